package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
	"unicode/utf8"

	"aibox/internal/fault"
	"aibox/review"
)

// feedbackFile holds the user's feedback on a session's work.
const feedbackFile = "feedback.json"

// Limits of feedback.
const (
	maxComment    = 16 << 10 // bytes of one comment
	maxComments   = 1000     // of one session
	maxRejections = 1000     // of one session
	maxRejected   = 32 << 10 // bytes kept of a rejected hunk's diff
)

// Feedback is the user's feedback on a session's work: comments and rejected hunks. It is
// kept until the session is removed. A session that resumes this one gets the unsent part
// in its prompt.
type Feedback struct {
	Comments []Comment   `json:"comments"`
	Rejected []Rejection `json:"rejected"`
}

// Comment is a remark on the work, on a file of it, on a line or on a hunk.
type Comment struct {
	Number int           `json:"number"`          // within the session, from 1; never used twice. Set by Sessions.Comment
	Path   review.Path   `json:"path,omitempty"`  // the file; empty for the work as a whole
	Line   int           `json:"line,omitempty"`  // of the agent's version of the file, from 1; 0 for the file as a whole
	Quote  string        `json:"quote,omitempty"` // the line, raw, cut: escape before printing. Set by Sessions.Comment
	Hunk   review.HunkID `json:"hunk,omitempty"`  // instead of Line; Path is set from it
	Diff   string        `json:"diff,omitempty"`  // the hunk, raw, cut: escape before printing. Set by Sessions.Comment
	Text   string        `json:"text"`
	Made   time.Time     `json:"made"`           // set by Sessions.Comment
	Sent   ID            `json:"sent,omitempty"` // the session that got it; empty when unsent
}

// Rejection is a hunk that the user rejected.
type Rejection struct {
	Hunk review.HunkID `json:"hunk"`
	Path review.Path   `json:"path"`
	Diff string        `json:"diff"` // raw, cut: escape before printing
	Note string        `json:"note,omitempty"`
	Made time.Time     `json:"made"`
	Sent ID            `json:"sent,omitempty"` // the session that got it; empty when unsent
}

// Empty reports whether there is no feedback at all.
func (f Feedback) Empty() bool { return len(f.Comments) == 0 && len(f.Rejected) == 0 }

// Open returns the unsent feedback.
func (f Feedback) Open() Feedback {
	var open Feedback
	for _, c := range f.Comments {
		if c.Sent == "" {
			open.Comments = append(open.Comments, c)
		}
	}
	for _, r := range f.Rejected {
		if r.Sent == "" {
			open.Rejected = append(open.Rejected, r)
		}
	}
	return open
}

// Rejects reports whether the hunk has an unsent rejection.
func (f Feedback) Rejects(hunk review.HunkID) bool {
	for _, r := range f.Rejected {
		if r.Hunk == hunk && r.Sent == "" {
			return true
		}
	}
	return false
}

// Feedback returns the feedback on the session's work. No feedback is not an error.
func (s *reader) Feedback(id ID) (Feedback, error) {
	var f Feedback
	err := s.store.read(id, feedbackFile, &f)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return f, err
}

// feedbacks stores the feedback on sessions' work.
type feedbacks struct {
	*changeSets
	store Store
}

// Comment adds a comment to an ended session. Path, Line and Hunk must exist in its work;
// otherwise it returns a Usage fault. It returns the comment as stored.
func (s *feedbacks) Comment(ctx context.Context, id ID, c Comment) (Comment, error) {
	c.Text = strings.TrimSpace(strings.ToValidUTF8(c.Text, "\uFFFD"))
	switch {
	case c.Text == "":
		return c, fault.New(fault.Usage, "the comment is empty")
	case len(c.Text) > maxComment:
		return c, fault.New(fault.Usage, "the comment is longer than %d KiB", maxComment>>10).Hint("say it shorter, or put the material into a file of the repository")
	}
	err := s.changeFeedback(ctx, id, func(f *Feedback) error {
		if len(f.Comments) >= maxComments {
			return fault.New(fault.Usage, "%s has %d comments, which is all it can have", id, maxComments).Hint("`aibox comment %s --remove N` takes one back", id)
		}
		set, err := s.FinalChanges(id)
		if err != nil {
			return err
		}
		if err := s.mayQuote(id, c, set); err != nil {
			return err
		}
		if err := c.locate(ctx, set); err != nil {
			return err
		}
		c.Number, c.Made, c.Sent = 1, now(), ""
		if last := len(f.Comments); last > 0 {
			c.Number = f.Comments[last-1].Number + 1
		}
		f.Comments = append(f.Comments, c)
		return nil
	})
	return c, err
}

// mayQuote refuses a comment on a line that is hidden from the agent, because the comment
// quotes the line to the agent. The change set's tree also holds the user's hidden files.
func (s *feedbacks) mayQuote(id ID, c Comment, set *review.ChangeSet) error {
	if c.Line == 0 || c.Path == "" || len(set.Changed([]review.Path{c.Path})) > 0 {
		return nil
	}
	var state State
	if err := s.store.read(id, stateFile, &state); err != nil {
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

// locate checks the comment's place and copies the line or hunk into the comment.
func (c *Comment) locate(ctx context.Context, set *review.ChangeSet) error {
	switch {
	case c.Hunk != "":
		hunks, err := findHunks(ctx, set, []review.HunkID{c.Hunk})
		if err != nil {
			return err
		}
		c.Hunk, c.Path, c.Line, c.Diff = hunks[0].id, hunks[0].path, 0, hunks[0].diff
	case c.Path != "":
		quote, err := set.Quote(ctx, c.Path, c.Line)
		if err != nil {
			return err
		}
		c.Quote = cutText(quote, 500)
	case c.Line != 0:
		return fault.New(fault.Usage, "line %d of which file", c.Line)
	}
	return nil
}

// Uncomment removes comments by their numbers. If one does not exist, it removes none and
// returns a Usage fault.
func (s *feedbacks) Uncomment(ctx context.Context, id ID, numbers ...int) error {
	return s.changeFeedback(ctx, id, func(f *Feedback) error {
		for _, number := range numbers {
			at := -1
			for i, c := range f.Comments {
				if c.Number == number {
					at = i
				}
			}
			if at < 0 {
				return fault.New(fault.Usage, "%s has no comment %d", id, number).Hint("`aibox comment %s` lists them", id)
			}
			f.Comments = append(f.Comments[:at], f.Comments[at+1:]...)
		}
		return nil
	})
}

// Reject marks hunks of an ended session's work as rejected, each by its id or a unique
// prefix. note says why, and may be empty; it replaces the note of an earlier rejection.
// If a hunk does not exist, it marks none and returns a Usage fault.
func (s *feedbacks) Reject(ctx context.Context, id ID, hunks []review.HunkID, note string) error {
	note = strings.TrimSpace(strings.ToValidUTF8(note, "\uFFFD"))
	if len(note) > maxComment {
		return fault.New(fault.Usage, "the comment is longer than %d KiB", maxComment>>10).Hint("say it shorter")
	}
	return s.changeFeedback(ctx, id, func(f *Feedback) error {
		set, err := s.FinalChanges(id)
		if err != nil {
			return err
		}
		found, err := findHunks(ctx, set, hunks)
		if err != nil {
			return err
		}
		for _, h := range found {
			f.drop(h.id)
			f.Rejected = append(f.Rejected, Rejection{Hunk: h.id, Path: h.path, Diff: h.diff, Note: note, Made: now()})
		}
		if len(f.Rejected) > maxRejections {
			return fault.New(fault.Usage, "more than %d hunks of %s would be rejected", maxRejections, id).
				Hint("`aibox discard %s` drops its work as a whole", id)
		}
		return nil
	})
}

// Unreject removes rejections by the hunks' ids or prefixes of them. If one does not
// exist, it removes none and returns a Usage fault.
func (s *feedbacks) Unreject(ctx context.Context, id ID, hunks []review.HunkID) error {
	return s.changeFeedback(ctx, id, func(f *Feedback) error {
		for _, prefix := range hunks {
			before := len(f.Rejected)
			var whole review.HunkID
			for _, r := range f.Rejected {
				if r.Sent != "" || !strings.HasPrefix(string(r.Hunk), strings.ToLower(string(prefix))) || prefix == "" {
					continue
				}
				if whole != "" {
					return ambiguousHunk(prefix)
				}
				whole = r.Hunk
			}
			f.drop(whole)
			if len(f.Rejected) == before {
				return fault.New(fault.Usage, "no hunk %.64q of %s is rejected", string(prefix), id).Hint("`aibox comment %s` lists those that are", id)
			}
		}
		return nil
	})
}

// drop removes the unsent rejection of a hunk.
func (f *Feedback) drop(hunk review.HunkID) {
	left := f.Rejected[:0]
	for _, r := range f.Rejected {
		if r.Hunk != hunk || r.Sent != "" {
			left = append(left, r)
		}
	}
	f.Rejected = left
}

// changeFeedback changes the feedback of an ended session that no other session
// continued.
func (s *feedbacks) changeFeedback(ctx context.Context, id ID, change func(*Feedback) error) error {
	return s.withEnded(ctx, id, func(session *Session) error {
		if err := checkNotContinued(session); err != nil {
			return err
		}
		f, err := s.Feedback(id)
		if err != nil {
			return err
		}
		if err := change(&f); err != nil {
			return err
		}
		return s.store.write(id, feedbackFile, f)
	})
}

func ambiguousHunk(prefix review.HunkID) error {
	return fault.New(fault.Usage, "%.64q could be several hunks", string(prefix)).Hint("type more of the id")
}

// cutText returns at most limit bytes of text, followed by a line that says so when it
// was cut.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + fmt.Sprintf("\n… (%d bytes more)", len(text)-cut)
}
