package manager

import (
	"context"
	"errors"
	"io/fs"
	"slices"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/session/feedback"
)

// feedbackFile holds the user's feedback on a session's work. It is kept until the session
// is removed.
const feedbackFile = "feedback.json"

// Feedback returns the feedback on the session's work. It is no error if there is none.
func (s *workReader) Feedback(id session.ID) (feedback.Feedback, error) {
	var f feedback.Feedback
	err := s.store.Read(id, feedbackFile, &f)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return f, err
}

// WithoutRejected returns the choice without the hunks that have an unsent rejection, except for
// those that it names.
func (s *workReader) WithoutRejected(ctx context.Context, id session.ID, set *review.ChangeSet, choice review.Choice) (review.Choice, error) {
	f, err := s.Feedback(id)
	if err != nil {
		return choice, err
	}
	ids, err := f.RejectedHunks(ctx, set, choice.Hunks...)
	for _, id := range ids {
		if !slices.Contains(choice.Except, id) {
			choice.Except = append(slices.Clip(choice.Except), id)
		}
	}
	return choice, err
}

// choiceRejects reports whether the choice, as WithoutRejected returned it, selects less because of
// rejected hunks.
func (s *workReader) choiceRejects(ctx context.Context, id session.ID, set *review.ChangeSet, choice review.Choice) bool {
	f, err := s.Feedback(id)
	if err != nil {
		return false
	}
	ids, err := f.RejectedHunks(ctx, set, choice.Hunks...)
	if err != nil || len(ids) == 0 {
		return false
	}
	selected, err := set.Select(ctx, choice)
	if err != nil {
		return false
	}
	choice.Except = slices.DeleteFunc(slices.Clone(choice.Except), func(hunk string) bool { return slices.Contains(ids, hunk) })
	all, err := set.Select(ctx, choice)
	return err == nil && all.CountBeyond(selected) > 0
}

// feedbacks stores the feedback on sessions' work.
type feedbacks struct {
	*changeSets
	store session.Store
}

// Comment adds a comment to an ended session. Path, Line and Hunk must exist in its work;
// otherwise it returns a Usage fault. It returns the comment as stored.
func (s *feedbacks) Comment(ctx context.Context, id session.ID, c feedback.Comment) (feedback.Comment, error) {
	if err := c.Normalize(); err != nil {
		return c, err
	}
	err := s.changeFeedback(ctx, id, func(f *feedback.Feedback) error {
		set, err := s.FinalChanges(id)
		if err != nil {
			return err
		}
		if err := s.mayQuote(id, c, set); err != nil {
			return err
		}
		c, err = f.Add(ctx, string(id), set, c)
		return err
	})
	return c, err
}

// AddFeedback adds comments and rejections to an ended session as Comment and Reject do, all of them
// or none. It omits comments that are there and unsent. undo restores what was there before, unless
// the feedback has changed again since.
func (s *feedbacks) AddFeedback(ctx context.Context, id session.ID, a feedback.Addition) (undo func(context.Context) error, err error) {
	var before, after feedback.Feedback
	err = s.changeFeedback(ctx, id, func(f *feedback.Feedback) error {
		before = f.Clone()
		set, err := s.FinalChanges(id)
		if err != nil {
			return err
		}
		for _, c := range a.Comments {
			if err := s.mayQuote(id, c, set); err != nil {
				return err
			}
		}
		err = f.AddAll(ctx, string(id), set, a)
		after = f.Clone()
		return err
	})
	return func(ctx context.Context) error {
		return s.changeFeedback(ctx, id, func(f *feedback.Feedback) error {
			if f.Equal(after) {
				*f = before
			}
			return nil
		})
	}, err
}

// mayQuote refuses a comment on a line that is hidden from the agent, because the comment
// quotes the line to the agent. The change set's tree also holds the user's hidden files.
func (s *feedbacks) mayQuote(id session.ID, c feedback.Comment, set *review.ChangeSet) error {
	if c.Line == 0 || c.Path == "" || len(set.Changed([]review.Path{c.Path})) > 0 {
		return nil
	}
	var state session.State
	if err := s.store.Read(id, session.StateFile, &state); err != nil {
		return err
	}
	hidden, err := state.Workspace.Covers()
	if err != nil {
		return err
	}
	if hidden(c.Path.Raw()) {
		return fault.New(fault.Usage, "%s was hidden from the agent, and a comment on a line quotes that line to it", c.Path).
			Hint("comment on the file as a whole: `aibox comment %s %s …`", id, c.Path)
	}
	return nil
}

// Uncomment removes comments by their numbers. If one does not exist, it removes none and
// returns a Usage fault.
func (s *feedbacks) Uncomment(ctx context.Context, id session.ID, numbers ...int) error {
	return s.changeFeedback(ctx, id, func(f *feedback.Feedback) error { return f.Remove(string(id), numbers...) })
}

// Reject marks hunks of an ended session's work as rejected, each by its id or a unique
// prefix. note is the reason and may be empty; it replaces the note of an earlier
// rejection. If a hunk does not exist, it marks none and returns a Usage fault.
func (s *feedbacks) Reject(ctx context.Context, id session.ID, hunks []review.HunkID, note string) error {
	return s.changeFeedback(ctx, id, func(f *feedback.Feedback) error {
		set, err := s.FinalChanges(id)
		if err != nil {
			return err
		}
		return f.Reject(ctx, string(id), set, hunks, note)
	})
}

// Unreject removes rejections by the hunks' ids or prefixes of them. If one does not
// exist, it removes none and returns a Usage fault.
func (s *feedbacks) Unreject(ctx context.Context, id session.ID, hunks []review.HunkID) error {
	return s.changeFeedback(ctx, id, func(f *feedback.Feedback) error { return f.Unreject(string(id), hunks) })
}

// changeFeedback changes the feedback of an ended session that no other session
// continued.
func (s *feedbacks) changeFeedback(ctx context.Context, id session.ID, change func(*feedback.Feedback) error) error {
	return s.withEnded(ctx, id, func(record *session.Session) error {
		if err := record.NotContinued(); err != nil {
			return err
		}
		f, err := s.Feedback(id)
		if err != nil {
			return err
		}
		if err := change(&f); err != nil {
			return err
		}
		return s.store.Write(id, feedbackFile, f)
	})
}

// SendFeedback sends the unsent feedback on the work of the session from to the session to,
// which continues it and whose folder exists. It marks the feedback as sent and returns it
// as a part of the prompt, empty for none. If keep is set, the session to inherits the
// feedback as unsent instead. The record of from says that to continues it, so no command
// changes its feedback.
func (s *feedbacks) SendFeedback(from, to session.ID, keep bool) (text string, err error) {
	f, err := s.Feedback(from)
	if err != nil {
		return "", err
	}
	open := f.Open()
	switch {
	case open.Empty():
		return "", nil
	case keep:
		return "", s.store.Write(to, feedbackFile, open)
	}
	f.MarkSent(string(to))
	return open.Prompt(), s.store.Write(from, feedbackFile, f)
}

// takeBackFeedback marks feedback as unsent again if it was sent to a session that never
// started.
func (s *feedbacks) takeBackFeedback(from, to session.ID) error {
	f, err := s.Feedback(from)
	if err != nil || !f.MarkUnsent(string(to)) {
		return err
	}
	return s.store.Write(from, feedbackFile, f)
}
