package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/decision"
	"aibox/session"
	"aibox/session/description"
	"aibox/session/feedback"

	"github.com/charmbracelet/x/ansi"

	"aibox/review/printer"
	"aibox/session/manager"
)

// showHead writes what precedes the lines of a diff: the task, its verification, the
// feedback on all of it, and what the diff does not show.
func (c *console) showHead(w io.Writer, t terminal, service *manager.Manager, found session.Session, scope *decision.Scope) error {
	task := termtext.Escape(firstLine(description.Of(found, scope.Whole, nil).Title, max(20, t.width-len(found.ID)-4)))
	if _, err := fmt.Fprintf(w, "%s  %s\n", t.bold(string(found.ID)), task); err != nil {
		return err
	}
	head := w
	if !t.color {
		head = plainly{w}
	}
	if err := c.printVerification(head, service, found.ID, scope.Whole.Tree); err != nil {
		return err
	}
	if open := found.OpenTools(); open != "" {
		fmt.Fprintf(w, "%s %s was open: the agent had a way out of its sandbox through the model's server\n", t.warn("!"), open)
	}
	for _, text := range found.ReachNotices() {
		fmt.Fprintf(w, "%s %s\n", t.warn("!"), termtext.Escape(text))
	}
	feedback, err := service.Feedback(found.ID)
	if err != nil {
		return err
	}
	for _, c := range feedback.Comments {
		if c.Path == "" {
			fmt.Fprintln(w, "▌ "+strings.ReplaceAll(safe(c.Text), "\n", "\n▌ "))
		}
	}
	set := scope.Set()
	printNotes(w, scope.Whole)
	if set.Empty() {
		_, err := fmt.Fprintln(w, "nothing was changed")
		return err
	}
	added, deleted := set.Totals()
	fmt.Fprintf(w, "%s, +%d -%d\n", amount.Of(set.Count(), "file"), added, deleted)
	if held := len(decision.RiskyPaths(set)); held > 0 {
		fmt.Fprintf(w, "%s %s with risks first; a plain accept leaves them out\n", t.warn("!"), amount.Of(held, "file"))
	}
	_, err = fmt.Fprintln(w)
	return err
}

// plainly takes the colors out of lines that were made for a terminal.
type plainly struct{ io.Writer }

func (p plainly) Write(text []byte) (int, error) {
	_, err := io.WriteString(p.Writer, ansi.Strip(string(text)))
	return len(text), err
}

// remarksOf collects the remarks that appear between the lines of a diff: risks, comments,
// and rejections at the last line of their hunk.
func remarksOf(ctx context.Context, service *manager.Manager, id session.ID, set *review.ChangeSet) (func(*review.Change) []printer.Remark, error) {
	feedback, err := service.Feedback(id)
	if err != nil {
		return nil, err
	}
	said := map[review.Path][]printer.Remark{}
	onHunks := map[review.HunkID]string{}
	var paths []review.Path
	for _, c := range feedback.Comments {
		switch {
		case c.Hunk != "":
			onHunks[c.Hunk] += c.Text + "\n"
			paths = append(paths, c.Path)
		case c.Path != "":
			said[c.Path] = append(said[c.Path], printer.Remark{Line: c.Line, Text: c.Text})
		}
	}
	for _, r := range feedback.Rejected {
		onHunks[r.Hunk] += rejectedText(r) + "\n"
		paths = append(paths, r.Path)
	}
	if err := placeOnHunks(ctx, set, paths, onHunks, said); err != nil {
		return nil, err
	}
	return func(c *review.Change) []printer.Remark { return append(riskRemarks(c), said[c.Path]...) }, nil
}

// rejectedText returns the remark for a rejected hunk.
func rejectedText(r feedback.Rejection) string {
	text := "rejected"
	if r.Sent != "" {
		text = "was rejected"
	}
	if r.Note != "" {
		text += ": " + r.Note
	}
	return text
}

// placeOnHunks adds the remarks on hunks, each at the last line of its hunk.
func placeOnHunks(ctx context.Context, set *review.ChangeSet, paths []review.Path, onHunks map[review.HunkID]string, said map[review.Path][]printer.Remark) error {
	if paths = set.Changed(paths); len(paths) == 0 {
		return nil
	}
	return set.Files(ctx, func(file review.FileDiff) error {
		for h := range file.Pieces() {
			if text := onHunks[h.ID]; text != "" {
				remark := lastLine(h)
				remark.Text = text
				said[h.Path] = append(said[h.Path], remark)
			}
		}
		return nil
	}, paths...)
}

// lastLine is the place of a hunk's last changed line; of one without lines it is
// the file's head.
func lastLine(h review.Hunk) printer.Remark {
	var last printer.Remark
	if h.Kind != review.HunkText {
		return last
	}
	before, after := h.OldStart, h.NewStart
	for _, line := range h.Lines {
		switch line.Op {
		case '+':
			last = printer.Remark{Line: after}
			after++
		case '-':
			last = printer.Remark{Line: before, Old: true}
			before++
		default:
			before, after = before+1, after+1
		}
	}
	return last
}

// riskRemarks are the risks of a file, to stand above it.
func riskRemarks(c *review.Change) []printer.Remark {
	remarks := make([]printer.Remark, 0, len(c.Risks))
	for _, r := range c.Risks {
		remarks = append(remarks, printer.Remark{Alarm: r.Holds(), Text: notice(r.String())})
	}
	return remarks
}
