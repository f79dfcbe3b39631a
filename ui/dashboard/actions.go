package dashboard

import (
	"fmt"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/dialog"
	"aibox/ui/page"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// act does what a key asks for with the session a person is at. What cannot be
// taken back by a key asks first.
func (m *Model) act(msg tea.KeyPressMsg) tea.Cmd {
	b, some := m.current()
	if !some {
		return nil
	}
	k := m.keys
	switch {
	case key.Matches(msg, k.attach):
		return page.Ask(page.Command{Args: []string{"attach", string(b.ID)}})
	case key.Matches(msg, k.review):
		return page.Ask(page.Review{ID: b.ID})
	case key.Matches(msg, k.diff):
		return command("diff", b.ID)
	case key.Matches(msg, k.accept):
		return command("accept", b.ID)
	case key.Matches(msg, k.logs):
		return command("logs", b.ID)
	case key.Matches(msg, k.place):
		return m.place()
	case key.Matches(msg, k.copy):
		command := commandFor(b)
		m.note.Say("copied: "+command, nil)
		return tea.SetClipboard(command)
	case key.Matches(msg, k.stop):
		m.confirm("Stop "+string(b.ID)+"?", "Its agent is asked to end, then ended. What it did so far is kept.", "stop", m.stop(b.ID))
	case key.Matches(msg, k.discard):
		text := fmt.Sprintf("Its workspace with %s (+%d -%d) is removed. `aibox recover %s` brings it back for 30 days.",
			amount.Of(b.Files, "changed file"), b.Added, b.Deleted, b.ID)
		m.confirm("Discard "+string(b.ID)+"?", text, "discard", m.discard(b.ID))
	case key.Matches(msg, k.remove):
		m.confirm("Remove "+string(b.ID)+"?", "Its record, its output and its workspace are removed.", "remove", m.remove(b.ID))
	}
	return nil
}

// place copies where the workspace is. Nothing is opened there: an editor, a shell's
// prompt or git would run what the agent wrote into its .git.
func (m *Model) place() tea.Cmd {
	ws := m.shown.session.State.Workspace
	if !m.shown.known || m.shown.id != m.at || ws == nil {
		return nil
	}
	m.note.Say("copied: "+termtext.Escape(ws.Path)+" (run no git there: its .git is the agent's)", nil)
	return tea.SetClipboard(ws.Path)
}

// command asks for a command whose output is to be read.
func command(verb string, id session.ID) tea.Cmd {
	return page.Ask(page.Command{Args: []string{verb, string(id)}, Wait: true})
}

// commandFor is the command line that goes on with a session.
func commandFor(b session.Brief) string {
	switch {
	case b.Phase != session.Ended:
		return "aibox attach " + string(b.ID)
	case b.Changed && b.Review == session.Unreviewed && b.ContinuedBy == "":
		return "aibox diff " + string(b.ID)
	default:
		return "aibox logs " + string(b.ID)
	}
}

func (m *Model) confirm(title, text, yes string, do tea.Cmd) {
	m.ask = dialog.Ask(dialog.Confirm{Title: title, Text: text, Yes: yes, Do: do}, m.now())
}

// answer is a key while a question is open.
func (m *Model) answer(msg tea.KeyPressMsg) tea.Cmd {
	ask := m.ask
	switch ask.Press(msg, m.now()) {
	case dialog.Left:
		m.ask = nil
	case dialog.Taken:
		m.ask = nil
		m.note.Say(ask.Yes+"…", nil)
		return ask.Do
	}
	return nil
}

func (m *Model) stop(id session.ID) tea.Cmd {
	ctx, sessions := m.ctx, m.sessions
	return func() tea.Msg {
		_, err := sessions.Stop(ctx, id, "stopped in the terminal UI")
		return acted{string(id) + " has ended", err}
	}
}

func (m *Model) discard(id session.ID) tea.Cmd {
	ctx, sessions := m.ctx, m.sessions
	return func() tea.Msg {
		_, err := sessions.Discard(ctx, id)
		return acted{fmt.Sprintf("discarded; `aibox recover %s` brings it back", id), err}
	}
}

func (m *Model) remove(id session.ID) tea.Cmd {
	ctx, sessions := m.ctx, m.sessions
	return func() tea.Msg {
		return acted{string(id) + " is removed", sessions.Remove(ctx, id, false)}
	}
}
