package agentsession

import (
	"context"
	"errors"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/session/feedback"
)

// Feedback is feedback on a session's work, or a further task.
type Feedback struct {
	Comments []feedback.Comment // with Path, Line, Hunk and Text
	Reject   []review.HunkID
	Reason   string // reason for the rejections
	Prompt   string // the further task
}

// SendFeedback starts a session that continues the work and the conversation of an ended one, with
// feedback, and returns when its agent runs or the session waits in the queue. step is as in Start.
// Feedback about a file, a line or a hunk that does not exist is a Usage fault.
//
// If no session is started, the feedback is not kept. So neither a repeated call nor one with other
// comments adds to what a failed one has stored.
func (s *Service) SendFeedback(ctx context.Context, id session.ID, given Feedback, step func(session.Step)) (session.Session, error) {
	if _, err := s.Find(id); err != nil {
		return session.Session{}, err
	}
	if len(given.Comments)+len(given.Reject) == 0 && given.Prompt == "" {
		return session.Session{}, fault.New(fault.Usage, "there is no feedback").Hint("give a comment, a hunk to reject, or a prompt")
	}
	takeBack, err := s.addFeedback(ctx, id, given)
	if err != nil {
		return session.Session{}, err
	}
	started, err := s.Start(ctx, Request{Resumes: id, Prompt: given.Prompt}, step)
	if err != nil {
		err = errors.Join(err, takeBack(context.WithoutCancel(ctx)))
	}
	return started, err
}

// addFeedback stores feedback on the work of an ended session. takeBack removes what this call has
// added. After an error, nothing is stored.
func (s *Service) addFeedback(ctx context.Context, id session.ID, given Feedback) (takeBack func(context.Context) error, err error) {
	stored, err := s.Sessions.Feedback(id)
	if err != nil {
		return nil, err
	}
	open := stored.Open()
	var added []int
	takeBack = func(ctx context.Context) error { return s.takeBack(ctx, id, added, given.Reason, open) }
	defer func() {
		if err != nil {
			err = errors.Join(err, takeBack(context.WithoutCancel(ctx)))
		}
	}()
	for _, comment := range given.Comments {
		if slices.ContainsFunc(open.Comments, func(c feedback.Comment) bool { return isSame(c, comment) }) {
			continue // a call is repeated in which the server was killed
		}
		made, err := s.Sessions.Comment(ctx, id, comment)
		if err != nil {
			return takeBack, err
		}
		added = append(added, made.Number)
	}
	if len(given.Reject) == 0 {
		return takeBack, nil
	}
	return takeBack, s.Sessions.Reject(ctx, id, given.Reject, given.Reason)
}

// takeBack removes the comments with these numbers, and the rejections that were not there before. A
// rejection that was there gets its earlier reason again, in place of reason. What was sent, removed or
// changed meanwhile stays as it is.
func (s *Service) takeBack(ctx context.Context, id session.ID, comments []int, reason string, before feedback.Feedback) error {
	now, err := s.Sessions.Feedback(id)
	if err != nil {
		return err
	}
	open := now.Open()
	comments = slices.DeleteFunc(slices.Clone(comments), func(number int) bool {
		return !slices.ContainsFunc(open.Comments, func(c feedback.Comment) bool { return c.Number == number })
	})
	var rejected []review.HunkID
	earlier := map[string][]review.HunkID{} // by their reasons
	for _, r := range open.Rejected {
		at := slices.IndexFunc(before.Rejected, func(b feedback.Rejection) bool { return b.Hunk == r.Hunk })
		switch {
		case at < 0:
			rejected = append(rejected, r.Hunk)
		case r.Note == strings.TrimSpace(reason) && r.Note != before.Rejected[at].Note:
			note := before.Rejected[at].Note
			earlier[note] = append(earlier[note], r.Hunk)
		}
	}
	if len(comments) > 0 {
		err = s.Sessions.Uncomment(ctx, id, comments...)
	}
	if len(rejected) > 0 {
		err = errors.Join(err, s.Sessions.Unreject(ctx, id, rejected))
	}
	for note, hunks := range earlier {
		err = errors.Join(err, s.Sessions.Reject(ctx, id, hunks, note))
	}
	return err
}

// isSame reports whether a stored comment is the one that is given.
func isSame(stored, given feedback.Comment) bool {
	if stored.Text != strings.TrimSpace(given.Text) {
		return false
	}
	if given.Hunk != "" {
		return strings.HasPrefix(string(stored.Hunk), strings.ToLower(string(given.Hunk)))
	}
	return stored.Hunk == "" && stored.Path == given.Path && stored.Line == given.Line
}
