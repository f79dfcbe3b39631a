package changes

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/branch"
	"aibox/review/decision"
	"aibox/review/worktree"
	"aibox/session"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/textarea"
	"charm.land/bubbles/v2/textinput"
	"github.com/charmbracelet/x/ansi"
)

// deliveryDialog is the last question: where the work goes, and with which message.
type deliveryDialog struct {
	id      session.ID
	draft   *decision.Draft
	part    *review.ChangeSet // what would be delivered
	left    []review.LeftOut  // what would be left out because of risks
	more    bool              // something was delivered before
	plan    *worktree.Plan
	secrets int // how many were replaced in the proposed message
	branch  textinput.Model
	message textarea.Model
	height  int // of the screen
	since   time.Time
}

// newBranchField makes the field for the name of the branch, without the focus.
func newBranchField(name string) textinput.Model {
	field := keymap.Field("Branch  ")
	field.SetValue(name)
	return field
}

// focusBranch moves the focus to the name of the branch, or to the message.
func (d *deliveryDialog) focusBranch(on bool) {
	if on {
		d.message.Blur()
		d.branch.Focus()
		d.branch.CursorEnd()
		return
	}
	d.branch.Blur()
	d.message.Focus()
}

// branchError returns why the name of the branch is invalid.
func (d *deliveryDialog) branchError() error {
	name := strings.TrimSpace(d.branch.Value())
	if name == "" {
		return nil // the default
	}
	return branch.CheckName(name)
}

// newArea makes a field for some lines of text, with the cursor at their end.
func newArea(value string) textarea.Model {
	area := keymap.Area()
	area.SetValue(value)
	area.Focus()
	return area
}

// newMessageArea makes the field for the commit message, with the cursor at its subject.
func newMessageArea(message string) textarea.Model {
	area := newArea(message)
	area.MoveToBegin()
	return area
}

// resizeArea changes the size of a field. The field alone would keep the row at its top, even if
// the rows above fit now.
func resizeArea(area *textarea.Model, width, height int) {
	area.SetWidth(width)
	area.SetHeight(height)
	row, column := area.Line(), area.Column()
	area.MoveToBegin()
	for area.Line() < row {
		area.CursorDown()
	}
	area.SetCursorColumn(column)
}

func (d *deliveryDialog) resize(width, height int) {
	d.height = height
	resizeArea(&d.message, max(20, min(72, width-8)), max(2, min(8, height-17)))
	d.branch.SetWidth(d.message.Width() - 9)
}

// View returns the framed question, with a note at its foot.
func (d *deliveryDialog) View(t theme.Theme, note frame.Note) string {
	rows, _ := d.rows(t, note)
	return t.Dialog.Render(strings.Join(rows, "\n"))
}

// rows returns the rows of the question. offers means that ctrl+r takes the part that is left out: there is
// only one, and the whole path and all risks of it are visible.
func (d *deliveryDialog) rows(t theme.Theme, note frame.Note) (rows []string, offers bool) {
	if len(d.riskyParts()) == 1 {
		if rows := d.layOut(t, note, true); len(rows) <= d.height-2 {
			return rows, true
		}
	}
	return d.layOut(t, note, false), false
}

func (d *deliveryDialog) layOut(t theme.Theme, note frame.Note, offers bool) []string {
	width := d.message.Width()
	toWorktree := d.draft.Target() == accept.ToWorktree
	into, where := "branch", "A commit on a new branch; your working tree, index and HEAD stay as they are."
	if toWorktree {
		into, where = "your working tree", "The files of your working tree, all or nothing; index and HEAD stay as they are."
	}
	parts := [][]string{{t.Title.Render("Accept into " + into)}, frame.Wrap(where, width), frame.Wrap(draftSummary(d.draft, t, 0), width)}
	keys := []string{"ctrl+s", "accept", "ctrl+t", "target", "esc", "back"}
	if toWorktree {
		parts = append(parts, d.steps(t, width, d.message.Height()))
	} else {
		name := []string{d.branch.View()}
		if err := d.branchError(); err != nil {
			name = append(name, t.Bad.Render(ansi.Truncate(err.Error(), width, "…")))
		}
		message := strings.Split(d.message.View(), "\n")
		if d.secrets > 0 {
			message = append(message, t.Warn.Render(ansi.Truncate("! "+amount.Of(d.secrets, "secret")+" in the message replaced", width, "…")))
		}
		parts = append(parts, name, message)
		other := "branch"
		if d.branch.Focused() {
			other = "message"
		}
		keys = append(keys[:4:4], "tab", other, "ctrl+e", "editor", "esc", "back")
	}
	if len(d.left) > 0 {
		if offers {
			parts = append(parts, d.leftOutPart(t, width))
			keys = append([]string{"ctrl+r", "take this part anyway"}, keys...)
		} else {
			parts = append(parts, d.leftOut(t, width))
		}
	}
	if note.Text() != "" {
		parts = append(parts, note.Lines(t, width, noteRows))
	}
	var foot []string
	for i := 0; i < len(keys); i += 2 {
		foot = append(foot, t.Key.Render(keys[i])+" "+keys[i+1])
	}
	parts = append(parts, frame.Wrap(strings.Join(foot, " · "), width))
	return d.stack(parts)
}

// riskyParts are the files of which a chosen part has risks.
func (d *deliveryDialog) riskyParts() []review.LeftOut {
	return slices.DeleteFunc(slices.Clone(d.left), func(file review.LeftOut) bool { return len(file.Hunks) == 0 })
}

// leftOutPart shows the only part that is left out, with all of its risks, and names other files.
func (d *deliveryDialog) leftOutPart(t theme.Theme, width int) []string {
	part := d.riskyParts()[0]
	var lines []string
	for _, line := range frame.Wrap("! left out because of risks: "+part.Path.String(), width) {
		lines = append(lines, t.Warn.Render(line))
	}
	for _, r := range part.Risks {
		lines = append(lines, frame.Wrap("  "+r.String(), width)...)
	}
	others := slices.DeleteFunc(slices.Clone(d.left), func(file review.LeftOut) bool { return file.Path == part.Path })
	if len(others) > 0 {
		lines = append(lines, t.Warn.Render(ansi.Truncate("! also left out: "+leftPaths(others), width, "…")))
	}
	return lines
}

// leftOut lists the files that are left out, with the first risks, and the command that takes a part of one.
func (d *deliveryDialog) leftOut(t theme.Theme, width int) []string {
	lines := []string{t.Warn.Render(ansi.Truncate("! left out because of risks: "+leftPaths(d.left), width, "…"))}
	for _, file := range d.left {
		for _, r := range file.Risks {
			if len(lines) <= 3 {
				lines = append(lines, ansi.Truncate("  "+r.String(), width, "…"))
			}
		}
	}
	if len(d.riskyParts()) == 0 {
		return lines
	}
	to := ""
	if d.draft.Target() == accept.ToWorktree {
		to = " --to worktree"
	}
	return append(lines, frame.Wrap(fmt.Sprintf("→ a part of one: aibox accept %s --hunks … --accept-risky FILE%s", d.id, to), width)...)
}

// stack puts the parts of the question below each other, with empty lines between them. A low
// screen has no room for these, and a very low one none for the second part, the explanation.
func (d *deliveryDialog) stack(parts [][]string) []string {
	var spaced []string
	for i, part := range parts {
		if i > 0 {
			spaced = append(spaced, "")
		}
		spaced = append(spaced, part...)
	}
	rows := d.height - 2 // its frame
	if len(spaced) <= rows {
		return spaced
	}
	if dense := slices.Concat(parts...); len(dense) <= rows {
		return dense
	}
	return slices.Concat(slices.Delete(parts, 1, 2)...)
}

// steps describes what would happen to the files of the working tree.
func (d *deliveryDialog) steps(t theme.Theme, width, height int) []string {
	plan := d.plan
	if plan == nil {
		return []string{t.Faint.Render(ansi.Truncate("It is not known yet what happens to your files.", width, "…"))}
	}
	const rename worktree.Action = "rename" // replaces nothing at the new path
	count := map[worktree.Action]int{}
	for _, step := range plan.Steps {
		action := step.Action
		if action == worktree.ActionReplace && step.From != "" {
			action = rename
		}
		count[action]++
	}
	var parts []string
	for _, action := range []worktree.Action{worktree.ActionCreate, worktree.ActionReplace, rename, worktree.ActionMerge, worktree.ActionDelete, worktree.ActionKeep} {
		if n := count[action]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d to %s", n, action))
		}
	}
	var lines []string
	if len(parts) > 0 {
		lines = []string{ansi.Truncate(strings.Join(parts, " · "), width, "…")}
	}
	clashes := plan.Conflicts()
	if len(clashes) == 0 {
		return lines
	}
	lines = append(lines, t.Bad.Render(ansi.Truncate(amount.Of(len(clashes), "conflicting file")+":", width, "…")))
	for i, step := range clashes {
		if room := height - len(lines); room == 1 && i < len(clashes)-1 {
			lines = append(lines, fmt.Sprintf("… and %d more", len(clashes)-i))
			break
		}
		lines = append(lines, ansi.Truncate("  "+step.Path.String()+": "+step.Reason, width, "…"))
	}
	return lines
}
