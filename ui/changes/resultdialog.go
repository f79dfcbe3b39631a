package changes

import (
	"strings"

	"aibox/internal/shellquote"
	"aibox/internal/termtext"
	"aibox/review/accept"
	"aibox/session"
	"aibox/ui/page"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// resultDialog shows the branch that work was delivered to, with the command that merges
// it.
type resultDialog struct {
	text    string // escaped
	command string
	copied  bool
}

// mergeCommand returns the command that brings a branch of the session's work into the
// user's own: in a repository that aibox cloned, it first has to be fetched.
func mergeCommand(of session.Session, accepted *accept.Result) string {
	if ws := of.State.Workspace; ws != nil && ws.URL != "" {
		return shellquote.Join([]string{"git", "fetch", accepted.Repo, accepted.Branch + ":" + accepted.Branch})
	}
	return shellquote.Join([]string{"git", "merge", accepted.Branch})
}

var (
	copyMerge   = keymap.Bind("copy the command", "y", "c")
	closeResult = keymap.Bind("close", "enter", "esc", "q", "ctrl+c", "ctrl+s")
)

func (*resultDialog) keys() []binding { return []binding{copyMerge, closeResult} }

// pressResult handles a key while the result is shown.
func (m *Model) pressResult(msg tea.KeyPressMsg) tea.Cmd {
	d := m.result
	switch {
	case key.Matches(msg, copyMerge):
		d.copied = true
		return tea.SetClipboard(d.command)
	case key.Matches(msg, closeResult):
		m.result = nil
		return page.Leave(d.text, nil)
	}
	return nil
}

// View returns the framed result.
func (d *resultDialog) View(t theme.Theme, width int) string {
	inner := max(20, min(72, width-8))
	lines := append([]string{t.Title.Render("Accepted"), ""}, frame.Wrap(d.text, inner)...)
	lines = append(lines, "", t.Key.Render(ansi.Truncate(termtext.Escape(d.command), inner, "…")))
	note := ""
	if d.copied {
		note = t.Good.Render(" · copied")
	}
	lines = append(lines, "", t.Key.Render("y")+" copy the command · "+t.Key.Render("enter")+" close"+note)
	return t.Dialog.Render(strings.Join(lines, "\n"))
}
