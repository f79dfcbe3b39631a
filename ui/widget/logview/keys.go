package logview

import (
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Keys are the keys with which users move in a text that grows, and search it.
type Keys struct {
	Up, Down, PageUp, PageDown, First, Last key.Binding
	Find, Next, Previous                    key.Binding
}

// NewKeys returns the keys, all of them enabled.
func NewKeys() Keys {
	return Keys{
		Up: keymap.Bind("up", "up", "k"), Down: keymap.Bind("down", "down", "j"),
		PageUp: keymap.Bind("page up", "pgup", "ctrl+b"), PageDown: keymap.Bind("page down", "pgdown", "space", "ctrl+f"),
		First: keymap.Bind("start", "home", "g"), Last: keymap.Bind("end, and follow", "end", "G", "f"),
		Find: keymap.Bind("search", "/"), Next: keymap.Bind("next", "n"), Previous: keymap.Bind("previous", "N"),
	}
}

// Keys returns the keys. Keys that would do nothing now are disabled.
func (m *Model) Keys() Keys {
	return m.keys.Now(m.over, m.started, m.words != "")
}

// Now returns the keys, and disables those that would do nothing now. over means that the text is
// complete, started that reading has begun, and searched that there is a search.
func (k Keys) Now(over, started, searched bool) Keys {
	if over {
		k.Last.SetHelp(k.Last.Help().Key, "end")
	}
	k.Find.SetEnabled(started)
	k.Next.SetEnabled(started && searched)
	k.Previous.SetEnabled(started && searched)
	return k
}

// All returns every key, for the help.
func (k Keys) All() []key.Binding {
	return []key.Binding{k.Up, k.Down, k.PageUp, k.PageDown, k.First, k.Last, k.Find, k.Next, k.Previous}
}

// Rows returns by how many rows a key scrolls a view of height rows; 0 for other keys.
func (k Keys) Rows(msg tea.KeyPressMsg, height int) int {
	page := max(1, height-1)
	switch {
	case key.Matches(msg, k.Up):
		return -1
	case key.Matches(msg, k.Down):
		return 1
	case key.Matches(msg, k.PageUp):
		return -page
	case key.Matches(msg, k.PageDown):
		return page
	default:
		return 0
	}
}

// TypingKeys returns the active keys while the search field is open.
func (m *Model) TypingKeys() []key.Binding { return m.line.Keys() }

// Press handles a key.
func (m *Model) Press(msg tea.KeyPressMsg) tea.Cmd {
	k := m.Keys()
	switch {
	case !m.started:
	case m.line.Typing():
		return m.typed(msg)
	case key.Matches(msg, k.Find):
		m.line.Clear()
		m.line.Open()
	case key.Matches(msg, k.Next):
		return m.seek(false)
	case key.Matches(msg, k.Previous):
		return m.seek(true)
	case key.Matches(msg, k.First):
		if m.window.lo > 0 {
			m.window.follow = false
			return m.part(around, 0, block, 0)
		}
		m.window.up(1 << 30)
	case key.Matches(msg, k.Last):
		m.window.follow = true
		if !m.window.complete() || m.failed != nil {
			return m.end()
		}
	default:
		return m.Scroll(k.Rows(msg, m.window.height))
	}
	return nil
}

// wheelRows is the number of rows per turn of the wheel.
const wheelRows = 3

// Turn returns by how many rows a wheel event scrolls.
func Turn(msg tea.MouseWheelMsg) int {
	switch msg.Button {
	case tea.MouseWheelUp:
		return -wheelRows
	case tea.MouseWheelDown:
		return wheelRows
	default:
		return 0
	}
}

// Scroll moves down by n rows, or up if n is negative.
func (m *Model) Scroll(n int) tea.Cmd {
	switch {
	case !m.started || n == 0:
		return nil
	case n < 0:
		m.window.up(-n)
	default:
		m.window.down(n)
	}
	return m.More()
}

// typed handles a key or a paste in the search field.
func (m *Model) typed(msg tea.Msg) tea.Cmd {
	if !m.line.Typing() || m.line.Update(msg) != dialog.Taken {
		return nil
	}
	m.startSearch(m.line.Value())
	return m.seek(false)
}
