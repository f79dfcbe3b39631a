// Package feedback holds the user's feedback on a session's work, and the prompt in which
// the agent receives it. It stores nothing.
package feedback

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"aibox/internal/fault"
	"aibox/review"
)

// Limits of feedback.
const (
	MaxComment    = 16 << 10 // bytes of one comment
	MaxComments   = 1000     // of one session
	MaxRejections = 1000     // of one session
	maxRejected   = 32 << 10 // bytes kept of a rejected hunk's diff
)

// Feedback is the user's feedback on a session's work: comments and rejected hunks. A
// session that resumes that session gets the unsent part in its prompt.
type Feedback struct {
	Comments []Comment   `json:"comments"`
	Rejected []Rejection `json:"rejected"`
}

// Comment is a remark on the work, or on a file, a line or a hunk of it.
type Comment struct {
	Number int           `json:"number"`          // within the session, from 1; that of a removed last comment is given again. Set by Add
	Path   review.Path   `json:"path,omitempty"`  // the file; empty for the work as a whole
	Line   int           `json:"line,omitempty"`  // in the agent's version of the file, from 1; 0 for the file as a whole
	Quote  string        `json:"quote,omitempty"` // the line, raw, cut: escape before printing. Set by Add
	Hunk   review.HunkID `json:"hunk,omitempty"`  // instead of Line; Path is set from it
	Diff   string        `json:"diff,omitempty"`  // the hunk, raw, cut: escape before printing. Set by Add
	Text   string        `json:"text"`
	Made   time.Time     `json:"made"`           // set by Add
	Sent   string        `json:"sent,omitempty"` // the id of the session that received it; empty when unsent
}

// Rejection is a hunk that the user rejected.
type Rejection struct {
	Hunk review.HunkID `json:"hunk"`
	Path review.Path   `json:"path"`
	Diff string        `json:"diff"` // raw, cut: escape before printing
	Note string        `json:"note,omitempty"`
	Made time.Time     `json:"made"`
	Sent string        `json:"sent,omitempty"` // the id of the session that received it; empty when unsent
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

// Normalize trims the comment's text. An empty or too long text is a Usage fault.
func (c *Comment) Normalize() error {
	c.Text = strings.TrimSpace(strings.ToValidUTF8(c.Text, "\uFFFD"))
	switch {
	case c.Text == "":
		return fault.New(fault.Usage, "the comment is empty")
	case len(c.Text) > MaxComment:
		return tooLong().Hint("write less, or put the text into a file of the repository")
	}
	return nil
}

func tooLong() *fault.Fault {
	return fault.New(fault.Usage, "the comment is longer than %d KiB", MaxComment>>10)
}

// Add adds a normalized comment on the change set of the session with the id of. Path, Line
// and Hunk must exist in it; otherwise it returns a Usage fault. It returns the comment as
// added.
func (f *Feedback) Add(ctx context.Context, of string, set *review.ChangeSet, c Comment) (Comment, error) {
	if len(f.Comments) >= MaxComments {
		return c, fault.New(fault.Usage, "%s has %d comments, the maximum", of, MaxComments).Hint("`aibox comment %s --remove N` removes one", of)
	}
	if err := c.locate(ctx, set); err != nil {
		return c, err
	}
	c.Number, c.Made, c.Sent = 1, time.Now().UTC(), ""
	if last := len(f.Comments); last > 0 {
		c.Number = f.Comments[last-1].Number + 1
	}
	f.Comments = append(f.Comments, c)
	return c, nil
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

// Remove removes comments on the session with the id of by their numbers. A comment that
// does not exist is a Usage fault.
func (f *Feedback) Remove(of string, numbers ...int) error {
	for _, number := range numbers {
		at := slices.IndexFunc(f.Comments, func(c Comment) bool { return c.Number == number })
		if at < 0 {
			return fault.New(fault.Usage, "%s has no comment %d", of, number).Hint("`aibox comment %s` lists them", of)
		}
		f.Comments = slices.Delete(f.Comments, at, at+1)
	}
	return nil
}

// Reject marks hunks of the change set of the session with the id of as rejected, each by
// its id or a unique prefix. note is the reason and may be empty; it replaces the note of
// an earlier rejection. A hunk that does not exist is a Usage fault.
func (f *Feedback) Reject(ctx context.Context, of string, set *review.ChangeSet, hunks []review.HunkID, note string) error {
	note = strings.TrimSpace(strings.ToValidUTF8(note, "\uFFFD"))
	if len(note) > MaxComment {
		return tooLong().Hint("write less")
	}
	if len(hunks) > MaxRejections { // the search for them takes their number times that of all hunks
		return tooManyRejections(of)
	}
	found, err := findHunks(ctx, set, hunks)
	if err != nil {
		return err
	}
	for _, h := range found {
		f.drop(h.id)
		f.Rejected = append(f.Rejected, Rejection{Hunk: h.id, Path: h.path, Diff: h.diff, Note: note, Made: time.Now().UTC()})
	}
	if len(f.Rejected) > MaxRejections {
		return tooManyRejections(of)
	}
	return nil
}

func tooManyRejections(of string) *fault.Fault {
	return fault.New(fault.Usage, "more than %d hunks of %s would be rejected", MaxRejections, of).
		Hint("`aibox discard %s` discards its work as a whole", of)
}

// Unreject removes unsent rejections on the session with the id of by the hunks' ids or
// prefixes of them. A rejection that does not exist is a Usage fault.
func (f *Feedback) Unreject(of string, hunks []review.HunkID) error {
	for _, prefix := range hunks {
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
		if whole == "" {
			return fault.New(fault.Usage, "no hunk %.64q of %s is rejected", string(prefix), of).Hint("`aibox comment %s` lists the rejected hunks", of)
		}
		f.drop(whole)
	}
	return nil
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

// MarkSent marks the unsent feedback as sent to a session.
func (f *Feedback) MarkSent(to string) { f.replaceSent("", to) }

// MarkUnsent marks the feedback sent to a session as unsent. It reports whether there was any.
func (f *Feedback) MarkUnsent(to string) bool { return f.replaceSent(to, "") }

// replaceSent replaces one value of Sent by another. It reports whether it changed
// anything.
func (f *Feedback) replaceSent(from, to string) bool {
	changed := false
	for i := range f.Comments {
		if c := &f.Comments[i]; c.Sent == from {
			c.Sent, changed = to, true
		}
	}
	for i := range f.Rejected {
		if r := &f.Rejected[i]; r.Sent == from {
			r.Sent, changed = to, true
		}
	}
	return changed
}

func ambiguousHunk(prefix review.HunkID) error {
	return fault.New(fault.Usage, "%.64q could be several hunks", string(prefix)).Hint("type more of the id")
}

// cutText returns at most limit bytes of text, followed by a note if it was cut.
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
