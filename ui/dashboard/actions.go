package dashboard

import (
	"fmt"

	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/ui/dialog"

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
		return request(Attach, b.ID)
	case key.Matches(msg, k.review):
		return request(Review, b.ID)
	case key.Matches(msg, k.diff):
		return request(Diff, b.ID)
	case key.Matches(msg, k.accept):
		return request(Accept, b.ID)
	case key.Matches(msg, k.logs):
		return request(Logs, b.ID)
	case key.Matches(msg, k.place):
		return m.place()
	case key.Matches(msg, k.copy):
		command := commandFor(b)
		m.say(acted{said: "copied: " + command})
		return tea.SetClipboard(command)
	case key.Matches(msg, k.stop):
		m.confirm("Stop "+string(b.ID)+"?", "Its agent is asked to end, then ended. What it did so far is kept.", "stop", m.stop(b.ID))
	case key.Matches(msg, k.discard):
		text := fmt.Sprintf("Its workspace with %s (+%d -%d) is removed. `aibox recover %s` brings it back for 30 days.",
			count(b.Files, "changed file"), b.Added, b.Deleted, b.ID)
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
	m.say(acted{said: "copied: " + termtext.Escape(ws.Path) + " (run no git there: its .git is the agent's)"})
	return tea.SetClipboard(ws.Path)
}

func request(command Command, id session.ID) tea.Cmd {
	return func() tea.Msg { return Request{command, id} }
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
		m.say(acted{said: ask.Yes + "…"})
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

// Say shows what became of a command that the screen's owner did.
func (m *Model) Say(text string, err error) tea.Cmd {
	m.say(acted{text, err})
	return m.list()
}

func (m *Model) say(a acted) {
	switch {
	case a.err != nil:
		m.said, m.failed = termtext.Escape(a.err.Error()), true
		if hints := fault.Hints(a.err); len(hints) > 0 {
			m.said += " → " + termtext.Escape(hints[0])
		}
	case a.said != "":
		m.said, m.failed = a.said, false
	}
}
