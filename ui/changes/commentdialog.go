package changes

import (
	"fmt"
	"strings"

	"aibox/review"
	"aibox/session"
	"aibox/ui/widget/frame"

	"charm.land/bubbles/v2/textarea"
	tea "charm.land/bubbletea/v2"
)

// remark is a comment that a person writes: on a hunk from its head or a line that is
// gone, on a line, or on a file without any.
type remark struct {
	on   session.Comment // without its text
	what string          // what it is about, escaped
	text textarea.Model
}

func (r *remark) resize(width, height int) {
	if r != nil {
		r.text.SetWidth(max(20, min(72, width-8)))
		r.text.SetHeight(max(2, min(6, height-12)))
	}
}

func (r *remark) update(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	r.text, cmd = r.text.Update(msg)
	return cmd
}

// comment begins a comment on where the person is.
func (m *Model) comment() {
	f := m.file()
	r := &remark{on: session.Comment{Path: f.change.Path}, what: f.change.Path.String(), text: newArea("")}
	switch here, i := m.here(), m.hunkAt(); {
	case here.new > 0 && here.kind != gapRow && f.change.Kind != review.Deleted:
		r.on.Line = int(here.new)
		r.what = fmt.Sprintf("line %d of %s", r.on.Line, r.what)
	case i >= 0:
		r.on, r.what = session.Comment{Hunk: f.hunks[i].ID}, "a hunk of "+r.what
	}
	r.resize(m.width, m.height)
	m.remark = r
}

// commented says what became of a comment.
type commented struct {
	sent
	comment session.Comment
	err     error
}

// remarking is a key while a comment is written.
func (m *Model) remarking(msg tea.KeyPressMsg) tea.Cmd {
	r := m.remark
	switch msg.String() {
	case "esc", "ctrl+c":
		m.remark = nil
		return nil
	case "ctrl+s":
		if strings.TrimSpace(r.text.Value()) == "" {
			return nil
		}
		m.remark = nil
		ctx, services, id, comment, to := m.ctx, m.services, m.session.ID, r.on, m
		comment.Text = r.text.Value()
		return func() tea.Msg {
			kept, err := services.Comment(ctx, id, comment)
			if err != nil {
				kept = comment
			}
			return commented{sent{to}, kept, err}
		}
	}
	return r.update(msg)
}

// keep shows a comment that was stored.
func (m *Model) keep(msg commented) {
	if msg.err != nil { // what was written stays
		m.note.Say("", msg.err)
		m.remark = &remark{on: msg.comment, what: "it once more", text: newArea(msg.comment.Text)}
		m.remark.on.Text = ""
		m.remark.resize(m.width, m.height)
		return
	}
	m.remarks.add(msg.comment)
	m.note.Say("kept: `aibox run --resume "+string(m.session.ID)+"` sends it to the agent", nil)
	m.arrangeRows()
	m.scroll()
}

// remarkView is the framed field.
func (m *Model) remarkView() string {
	var lines []string
	for _, line := range frame.Wrap("Comment on "+m.remark.what, m.remark.text.Width()) {
		lines = append(lines, m.theme.Title.Render(line))
	}
	return m.theme.Dialog.Render(strings.Join(append(lines, "", m.remark.text.View(), "",
		m.theme.Key.Render("ctrl+s")+" keep · "+m.theme.Key.Render("esc")+" back"), "\n"))
}
