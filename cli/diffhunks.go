package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"aibox/internal/git"
	"aibox/review"
	"aibox/review/decision"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/session/manager"
)

// shortID is how many digits of a hunk's id are shown. Any unique prefix of an id selects the hunk.
const shortID = 12

// listHunks writes a line for each hunk: its id, its file, what it does.
func (c *console) listHunks(ctx context.Context, scope *decision.Scope) error {
	if scope.Whole.Empty() {
		printNotes(c.err, scope.Whole)
		return nil
	}
	return c.piped(func(w io.Writer) error {
		return scope.Files(ctx, func(file review.FileDiff) error {
			for _, h := range file.Hunks {
				_, err := fmt.Fprintf(w, "%.*s  %s  %s\n", shortID, h.ID, h.Path, hunkTitle(h, file.Change))
				if err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// hunkTitle describes the hunk in one line, escaped.
func hunkTitle(h review.Hunk, c *review.Change) string {
	switch h.Kind {
	case review.HunkAdded, review.HunkDeleted, review.HunkContent:
		return h.Describe(c) + extent(c)
	default:
		return h.Describe(c)
	}
}

// extent returns how much of a file was changed.
func extent(c *review.Change) string {
	switch {
	case string(git.Symlink) == c.NewMode, c.NewMode == "" && string(git.Symlink) == c.OldMode:
		return ""
	case c.LFS != nil:
		return ", " + c.DescribeLFS()
	case c.Binary:
		return fmt.Sprintf(", binary, %d bytes", c.Size)
	default:
		return fmt.Sprintf(", +%d -%d", c.Added, c.Deleted)
	}
}

// encodeHunks writes a change with its hunks as JSON, line by line: a file may have
// hundreds of thousands of lines, and encoding them together would hold them three times.
func encodeHunks(w io.Writer, file review.FileDiff) error {
	change, err := openJSON(file.Change)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `%s,"hunks":[`, change)
	for i, h := range file.Hunks {
		head := h
		head.Lines = nil
		hunk, headErr := openJSON(head)
		if err = errors.Join(err, headErr, separate(w, i)); err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "%s", hunk)
		if len(h.Lines) > 0 {
			_, err = io.WriteString(w, `,"lines":[`)
			for j := range h.Lines {
				line, lineErr := openJSON(h.Lines[j])
				if err = errors.Join(err, lineErr, separate(w, j)); err != nil {
					return err
				}
				_, err = fmt.Fprintf(w, "%s}", line)
			}
			_, endErr := io.WriteString(w, "]")
			err = errors.Join(err, endErr)
		}
		_, endErr := io.WriteString(w, "}")
		err = errors.Join(err, endErr)
	}
	_, endErr := io.WriteString(w, "]}")
	return errors.Join(err, endErr)
}

// separate writes the comma before every item of a list except the first.
func separate(w io.Writer, item int) error {
	if item == 0 {
		return nil
	}
	_, err := io.WriteString(w, ",")
	return err
}

// openJSON returns an object as JSON without its last brace.
func openJSON(value any) ([]byte, error) {
	var data bytes.Buffer
	if err := encodeJSON(&data, value, ""); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSpace(data.Bytes()), []byte("}")), nil
}

// diffFacts is the JSON of `aibox diff`.
type diffFacts struct {
	*review.ChangeSet
	Verifications []session.Verification `json:"verifications,omitempty"` // oldest first, with the trees they ran on
	Feedback      *feedback.Feedback     `json:"feedback,omitempty"`
}

// diffJSON writes the change set with its verifications and feedback. With hunks, each
// change is on a line of its own, so that only one file is in memory at a time.
func (o *diffOptions) printJSON(ctx context.Context, service *manager.Manager, id session.ID, scope *decision.Scope, hunks bool) error {
	facts := diffFacts{ChangeSet: scope.Set()}
	feedback, err := service.Feedback(id)
	if err == nil {
		facts.Verifications, err = service.Verifications(id)
	}
	if err != nil {
		return err
	}
	if !feedback.Empty() {
		facts.Feedback = &feedback
	}
	if !hunks {
		return o.piped(func(w io.Writer) error { return printJSON(w, facts) })
	}
	const changes = `"changes":null`
	head := *facts.ChangeSet
	head.Changes = nil
	facts.ChangeSet = &head
	var data bytes.Buffer
	if err := encodeJSON(&data, facts, ""); err != nil {
		return err
	}
	before, after, _ := bytes.Cut(data.Bytes(), []byte(changes))
	return o.piped(func(w io.Writer) error {
		if _, err := fmt.Fprintf(w, "%s\"changes\":[", before); err != nil {
			return err
		}
		lead := "\n"
		err := scope.Files(ctx, func(file review.FileDiff) error {
			_, leadErr := io.WriteString(w, lead)
			lead = ",\n"
			return errors.Join(leadErr, encodeHunks(w, file))
		})
		_, endErr := fmt.Fprintf(w, "\n]%s", after)
		return errors.Join(err, endErr)
	})
}
