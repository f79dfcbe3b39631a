package dashboard

import (
	"aibox/session"
	"aibox/ui/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the dashboard's keys. Those for a session are enabled when it can be
// done with the session a person is at.
type keys struct {
	up, down, pageUp, pageDown, first, last key.Binding
	attach, review, diff, accept, discard   key.Binding
	stop, remove, logs, place, copy         key.Binding
	filter, clear, order, group, preview    key.Binding
}

func newKeys() keys {
	return keys{
		up: keymap.Bind("up", "up", "k"), down: keymap.Bind("down", "down", "j"),
		pageUp: keymap.Bind("page up", "pgup", "ctrl+b"), pageDown: keymap.Bind("page down", "pgdown", "ctrl+f"),
		first: keymap.Bind("first", "home", "g"), last: keymap.Bind("last", "end", "G"),
		attach: keymap.Bind("attach", "enter"), review: keymap.Bind("review", "enter", "r"), diff: keymap.Bind("diff", "d"), accept: keymap.Bind("accept", "a"),
		discard: keymap.Bind("discard", "x"), stop: keymap.Bind("stop", "s"), remove: keymap.Bind("remove", "delete", "X"),
		logs: keymap.Bind("output", "l"), place: keymap.Bind("copy the workspace's path", "o"), copy: keymap.Bind("copy the command", "c"),
		filter: keymap.Bind("filter", "/"), clear: keymap.Bind("clear the filter", "esc"), order: keymap.Bind("sort", "S"),
		group: keymap.Bind("group", "v"), preview: keymap.Bind("preview", "p"),
	}
}

// fit enables what can be done with the session a person is at.
func (m *Model) fit() {
	b, some := m.current()
	ended := some && b.Phase == session.Ended
	owns := ended && b.ContinuedBy == ""
	open := owns && b.Changed && b.Review == session.Unreviewed
	m.keys.review.SetEnabled(ended && b.Changed)
	m.keys.attach.SetEnabled(some && (!ended || b.Interactive && !b.Changed))
	m.keys.diff.SetEnabled(ended && b.Changed)
	m.keys.accept.SetEnabled(owns && b.Changed && b.Review != session.Discarded)
	m.keys.discard.SetEnabled(open)
	m.keys.stop.SetEnabled(some && !ended)
	m.keys.remove.SetEnabled(ended && !open)
	m.keys.logs.SetEnabled(some)
	m.keys.place.SetEnabled(owns && b.Review != session.Discarded)
	m.keys.copy.SetEnabled(some)
	m.keys.clear.SetEnabled(m.filter.Value() != "")
}

// Short is the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	m.fit()
	k := m.keys
	return []key.Binding{k.attach, k.review, k.diff, k.accept, k.discard, k.stop, k.remove, k.logs, k.filter, k.preview}
}

// Keys is every key, for the help.
func (m *Model) Keys() []keymap.Group {
	if m.ask != nil {
		return m.ask.Keys()
	}
	k := newKeys()
	return []keymap.Group{
		{Title: "Session", Keys: []key.Binding{k.attach, k.review, k.diff, k.accept, k.discard, k.stop, k.remove, k.logs, k.place, k.copy}},
		{Title: "List", Keys: []key.Binding{k.filter, k.clear, k.order, k.group, k.preview}},
		{Title: "Move", Keys: []key.Binding{k.up, k.down, k.pageUp, k.pageDown, k.first, k.last}},
	}
}

// Typing reports whether keys are text or answers now, so that no key of the whole
// program counts.
func (m *Model) Typing() bool { return m.filtering || m.ask != nil }

// press is one key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.fit()
	switch {
	case m.ask != nil:
		return m.answer(msg)
	case m.filtering:
		return m.typed(msg)
	case m.move(msg):
		return m.look(true)
	}
	k := m.keys
	switch {
	case key.Matches(msg, k.filter):
		m.filtering = true
		return m.filter.Focus()
	case key.Matches(msg, k.clear):
		m.filter.SetValue("")
	case key.Matches(msg, k.order):
		m.order = (m.order + 1) % orders
		m.note.Say("sorted "+m.order.String(), nil)
	case key.Matches(msg, k.group):
		m.grouped = !m.grouped
	case key.Matches(msg, k.preview):
		m.preview = !m.preview
	default:
		return m.act(msg)
	}
	m.arrange()
	return m.look(true)
}

// move goes through the list.
func (m *Model) move(msg tea.KeyPressMsg) bool {
	k, at, page := m.keys, m.index(), max(1, m.listHeight()-1)
	switch {
	case key.Matches(msg, k.up):
		m.step(-1, at)
	case key.Matches(msg, k.down):
		m.step(1, at)
	case key.Matches(msg, k.pageUp):
		m.step(-page, at)
	case key.Matches(msg, k.pageDown):
		m.step(page, at)
	case key.Matches(msg, k.first):
		m.step(0, 0)
	case key.Matches(msg, k.last):
		m.step(0, len(m.rows))
	default:
		return false
	}
	return true
}

// typed is a key or a paste while a person filters.
func (m *Model) typed(msg tea.Msg) tea.Cmd {
	if press, ok := msg.(tea.KeyPressMsg); ok {
		switch press.String() {
		case "enter":
			m.filtering = false
			m.filter.Blur()
			return nil
		case "esc", "ctrl+c":
			m.filtering = false
			m.filter.Blur()
			m.filter.SetValue("")
			m.arrange()
			return m.look(true)
		case "up", "down", "pgup", "pgdown":
			m.move(press)
			return m.look(true)
		}
	}
	var cmd tea.Cmd
	m.filter, cmd = m.filter.Update(msg)
	m.arrange()
	return tea.Batch(cmd, m.look(true))
}

// wheel scrolls.
func (m *Model) wheel(msg tea.MouseWheelMsg) tea.Cmd {
	if m.ask != nil {
		return nil
	}
	switch msg.Button {
	case tea.MouseWheelUp:
		m.step(-1, m.index())
	case tea.MouseWheelDown:
		m.step(1, m.index())
	}
	return m.look(true)
}

// click goes to the row under the mouse.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	i := m.top + msg.Y - headRows
	if m.ask != nil || msg.Button != tea.MouseLeft || msg.Y < headRows || msg.Y >= headRows+m.listHeight() || i >= len(m.rows) || m.rows[i].heading != "" {
		return nil
	}
	m.at = m.rows[i].brief.ID
	return m.look(true)
}
