package conversation

import (
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Keys are the keys that Press handles.
type Keys struct {
	Up, Down, PageUp, PageDown, First, Last key.Binding
	Fold, FoldAll                           key.Binding
	Find, Next, Previous                    key.Binding
}

func newKeys() Keys {
	return Keys{
		Up: keymap.Bind("up", "up", "k"), Down: keymap.Bind("down", "down", "j"),
		PageUp: keymap.Bind("page up", "pgup", "ctrl+b"), PageDown: keymap.Bind("page down", "pgdown", "ctrl+f"),
		First: keymap.Bind("start", "home", "g"), Last: keymap.Bind("end, and follow", "end", "G", "f"),
		Fold: keymap.Bind("unfold or fold", "enter", "space"), FoldAll: keymap.Bind("unfold or fold all", "z"),
		Find: keymap.Bind("search", "/"), Next: keymap.Bind("next", "n"), Previous: keymap.Bind("previous", "N"),
	}
}

// Keys returns the keys. Keys that would do nothing now are disabled.
func (m *Model) Keys() Keys {
	k := m.keys
	if m.over {
		k.Last.SetHelp(k.Last.Help().Key, "end")
	}
	selected := m.window.selected
	k.Fold.SetEnabled(selected != nil && selected.foldable())
	k.FoldAll.SetEnabled(selected != nil)
	k.Find.SetEnabled(m.Started())
	k.Next.SetEnabled(m.words != "")
	k.Previous.SetEnabled(m.words != "")
	return k
}

// All returns every key, for the help.
func (k Keys) All() []key.Binding {
	return []key.Binding{k.Fold, k.FoldAll, k.Up, k.Down, k.PageUp, k.PageDown, k.First, k.Last, k.Find, k.Next, k.Previous}
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
