package changes

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/review"
	"aibox/session/feedback"
	"aibox/ui/changes/diff"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// commentDialog is the field for a comment. On the heading of a hunk or on a deleted line, the
// comment is about the hunk. On any other line, it is about the line. It can also be about a file
// without hunks.
type commentDialog struct {
	on    feedback.Comment // without its text
	about string           // what the comment is about, escaped
	at    position         // of the row
	again bool             // it could not be stored before
	text  textarea.Model
}

// newCommentDialog makes the field for a comment on a row of a file.
func newCommentDialog(f *diff.File, at diff.Row) *commentDialog {
	d := &commentDialog{on: feedback.Comment{Path: f.Change.Path}, about: f.Change.Path.String(), text: newArea("")}
	switch {
	case at.New > 0 && at.Kind != diff.GapRow && f.Change.Kind != review.Deleted:
		d.on.Line = int(at.New)
		d.about = fmt.Sprintf("line %d of %s", d.on.Line, d.about)
	case !at.Gap && at.Hunk >= 0:
		d.on, d.about = feedback.Comment{Hunk: f.Hunks()[at.Hunk].ID}, "a hunk of "+d.about
	}
	return d
}

func (d *commentDialog) resize(width, height int) {
	if d != nil {
		resizeArea(&d.text, max(20, min(72, width-8)), max(2, min(6, height-12)))
	}
}

// Update handles a key or a paste. Taken means that the user wants to keep the comment.
func (d *commentDialog) Update(msg tea.Msg) dialog.Outcome {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		switch press.String() {
		case "esc", "ctrl+c":
			return dialog.Left
		case "ctrl+s":
			if strings.TrimSpace(d.text.Value()) == "" {
				return dialog.Open
			}
			return dialog.Taken
		}
	}
	d.text, _ = d.text.Update(msg)
	return dialog.Open
}

// comment returns the comment as it is written now.
func (d *commentDialog) comment() feedback.Comment {
	c := d.on
	c.Text = d.text.Value()
	return c
}

// View returns the framed field.
func (d *commentDialog) View(t theme.Theme) string {
	var lines []string
	title := "Comment on " + d.about
	if d.again {
		title += " once more"
	}
	for _, line := range frame.Wrap(title, d.text.Width()) {
		lines = append(lines, t.Title.Render(line))
	}
	return t.Dialog.Render(strings.Join(append(lines, "", d.text.View(), "",
		t.Key.Render("ctrl+s")+" keep · "+t.Key.Render("esc")+" back"), "\n"))
}

// unfinished is a comment that the user has left before it was kept.
type unfinished struct {
	about, text string   // as in commentDialog
	at          position // of the row that it is on
}

// unfinishedQuestion asks whether to go on without the unfinished comments.
type unfinishedQuestion struct {
	ask   *dialog.Confirm
	sends bool // the agent receives the comments that are kept
}

// askUnfinished does what ends the review. It asks first if a comment would be lost, and names it. sends
// means that the agent receives the comments that are kept.
func (m *Model) askUnfinished(yes string, sends bool, do func() tea.Cmd) tea.Cmd {
	switch {
	case m.keeping:
		m.note.Say("the last comment is still being kept; press the key again", nil)
		return nil
	case len(m.unfinished) == 0:
		return do()
	}
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Go on without " + amount.Of(len(m.unfinished), "unfinished comment") + "?",
		Yes:   yes,
		Do:    func() tea.Msg { return confirmed{do} },
	}, m.now())
	m.goOn = unfinishedQuestion{m.ask, sends}
	m.fitUnfinished()
	return nil
}

// fitUnfinished names as many unfinished comments as fit into the screen, if the question about them is open.
func (m *Model) fitUnfinished() {
	if m.ask == nil || m.ask != m.goOn.ask {
		return
	}
	for most := maxNamed; most >= 0; most-- {
		m.ask.Text = m.withoutComments(m.goOn.sends, most)
		if lipgloss.Height(m.ask.View(m.theme, m.width, math.MaxInt)) <= m.height {
			break
		}
	}
}

const (
	maxNamed = 5   // unfinished comments that a question names
	maxAbout = 110 // columns of each name: two rows
)

// withoutComments says what becomes of the unfinished comments, and names the first ones, at most most.
func (m *Model) withoutComments(sends bool, most int) string {
	var lines []string
	for _, c := range slices.SortedFunc(maps.Values(m.unfinished), inReview) {
		lines = append(lines, "• on "+shortened(c.about))
	}
	if n := len(lines) - most; n > 0 {
		lines = append(lines[:most], fmt.Sprintf("and %d more", n))
	}
	if most == 0 {
		lines = nil // the title has their number
	} else {
		lines = append(lines, "")
	}
	them, texts, one := "it", "Its text is", "it"
	if len(m.unfinished) > 1 {
		them, texts, one = "them", "Their texts are", "one"
	}
	end := texts + " lost when the review closes. To keep " + one + ", press c at the same place, then ctrl+s."
	if sends {
		end = "The agent does not receive " + them + ". " + end
	}
	return strings.Join(append(lines, end), "\n")
}

// inReview compares unfinished comments by where they are in the review. A comment on a hunk comes before
// those on its lines.
func inReview(a, b unfinished) int {
	return cmp.Or(
		cmp.Compare(a.at.file, b.at.file), cmp.Compare(a.at.row.Hunk, b.at.row.Hunk), cmp.Compare(a.at.row.New, b.at.row.New), cmp.Compare(a.about, b.about))
}

// shortened cuts a long text in the middle, so that the kind of place and the file's name stay.
func shortened(about string) string {
	width := ansi.StringWidth(about)
	if width <= maxAbout {
		return about
	}
	const head = maxAbout / 2
	return ansi.Truncate(about, head, "…") + ansi.TruncateLeft(about, width-(maxAbout-head), "")
}

// openComment shows the field for a comment at the cursor. While the last comment is being stored
// there is none, because a failure brings that one back.
func (m *Model) openComment() {
	if m.keeping {
		m.note.Say("the last comment is still being kept; press c again", nil)
		return
	}
	m.comment = newCommentDialog(m.diff.File(), m.diff.Current())
	m.comment.at = position{m.diff.At, m.diff.Current()}
	m.comment.text.SetValue(m.unfinished[m.comment.on].text)
	delete(m.unfinished, m.comment.on)
	m.comment.resize(m.width, m.height)
}

// commented brings a comment that was stored.
type commented struct {
	comment feedback.Comment
	from    *commentDialog
	err     error
}

// pressComment handles a key while a comment is written.
func (m *Model) pressComment(msg tea.KeyPressMsg) tea.Cmd {
	d := m.comment
	switch d.Update(msg) {
	case dialog.Open:
		return nil
	case dialog.Left:
		m.leaveComment()
		return nil
	}
	m.comment = nil
	m.keeping = true
	ctx, services, id, comment := m.ctx, m.services, m.session.ID, d.comment()
	return func() tea.Msg {
		kept, err := services.Comment(ctx, id, comment)
		return commented{kept, d, err}
	}
}

// leaveComment closes the field for a comment. Its text is shown again when the user comments on the
// same place.
func (m *Model) leaveComment() {
	d := m.comment
	m.comment = nil
	if strings.TrimSpace(d.text.Value()) == "" {
		return
	}
	if m.unfinished == nil {
		m.unfinished = map[feedback.Comment]unfinished{}
	}
	m.unfinished[d.on] = unfinished{d.about, d.text.Value(), d.at}
	m.note.Say("the comment is not kept yet; c on the same line opens it again", nil)
}

// showComment shows a comment that was stored. If it was not stored, the user can change it and try
// again.
func (m *Model) showComment(msg commented) {
	m.keeping = false
	if msg.err != nil {
		m.note.Say("", msg.err)
		m.appeared.Start(m.now())
		m.comment = msg.from
		m.comment.again = true
		m.comment.resize(m.width, m.height)
		return
	}
	m.diff.Comments.Add(msg.comment)
	if m.canSendBack() {
		m.note.Say("kept: S sends it to the agent", nil)
	} else {
		m.note.Say("kept", nil)
	}
	m.diff.Arrange()
}
