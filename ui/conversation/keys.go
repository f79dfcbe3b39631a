package conversation

import (
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/logview"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Keys are the keys that Press handles.
type Keys struct {
	logview.Keys

	Fold, FoldAll key.Binding
}

func newKeys() Keys {
	k := Keys{
		Keys: logview.NewKeys(),
		Fold: keymap.Bind("unfold or fold", "enter", "space"), FoldAll: keymap.Bind("unfold or fold all", "z"),
	}
	k.PageDown = keymap.Bind("page down", "pgdown", "ctrl+f") // without space
	return k
}

// Keys returns the keys. Keys that would do nothing now are disabled.
func (m *Model) Keys() Keys {
	k := m.keys
	k.Keys = k.Now(m.over, m.Started(), m.words != "")
	selected := m.window.selected
	k.Fold.SetEnabled(selected != nil && selected.foldable())
	k.FoldAll.SetEnabled(selected != nil)
	return k
}

// All returns every key, for the help.
func (k Keys) All() []key.Binding {
	return append([]key.Binding{k.Fold, k.FoldAll}, k.Keys.All()...)
}

// TypingKeys returns the active keys while the search field is open.
func (m *Model) TypingKeys() []key.Binding { return m.line.Keys() }

// Press handles a key.
func (m *Model) Press(msg tea.KeyPressMsg) tea.Cmd {
	k := m.Keys()
	page := max(1, m.window.height-1)
	switch {
	case m.line.Typing():
		return m.typed(msg)
	case key.Matches(msg, k.Find):
		m.line.Clear()
		m.line.Open()
	case key.Matches(msg, k.Next):
		return m.seek(false)
	case key.Matches(msg, k.Previous):
		return m.seek(true)
	case key.Matches(msg, k.Fold):
		m.window.toggle(m.window.selected)
	case key.Matches(msg, k.FoldAll):
		m.window.toggleAll()
	case key.Matches(msg, k.Up):
		m.window.move(false)
	case key.Matches(msg, k.Down):
		m.window.move(true)
	case key.Matches(msg, k.PageUp):
		m.window.page(-page)
	case key.Matches(msg, k.PageDown):
		m.window.page(page)
	case key.Matches(msg, k.First):
		m.window.first()
	case key.Matches(msg, k.Last):
		m.window.last()
		if m.failed != nil {
			return m.again()
		}
	}
	return nil
}

// Scroll moves down by n rows, or up if n is negative.
func (m *Model) Scroll(n int) tea.Cmd {
	if n != 0 && len(m.list.items) > 0 {
		m.window.page(n)
	}
	return nil
}

// Click selects the item on a row, or folds the selected one.
func (m *Model) Click(y int) {
	it := m.window.at(y)
	switch {
	case it == nil:
	case it == m.window.selected:
		m.window.toggle(it)
	default:
		m.window.selected, m.window.follow = it, false
	}
}

// typed handles a key or a paste in the search field.
func (m *Model) typed(msg tea.Msg) tea.Cmd {
	if !m.line.Typing() || m.line.Update(msg) != dialog.Taken {
		return nil
	}
	return m.search(m.line.Value())
}
