package settings

import (
	"aibox/config"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's keys.
type keys struct {
	edit, reset, open, filter, clear, changed, next, previous, reread, leave key.Binding
	save, cancel, up, down, toggle                                           key.Binding // while a value is edited
}

func newKeys() keys {
	return keys{
		edit: keymap.Bind("edit", "enter", "e"), reset: keymap.Bind("remove from your file", "delete", "u"),
		open: keymap.Bind("open your file in an editor", "o"), filter: keymap.Bind("search", "/"), clear: keymap.Bind("clear the search", "esc"),
		changed: keymap.Bind("only changed settings", "c"), next: keymap.Bind("next section", "tab", "]"), previous: keymap.Bind("previous section", "shift+tab", "["),
		reread: keymap.Bind("reload", "r"), leave: keymap.Bind("back", "esc", "q"),
		save: keymap.Bind("save", "enter", "ctrl+s"), cancel: keymap.Bind("cancel", "esc", "ctrl+c"),
		up: keymap.Bind("previous value", "up", "ctrl+p"), down: keymap.Bind("next value", "down", "ctrl+n"), toggle: keymap.Bind("pick", "space"),
	}
}

// searchKeys are the keys while the user types the search.
var searchKeys = []key.Binding{keymap.Bind("apply", "enter"), keymap.Bind("clear", "esc", "ctrl+c")}

// enableKeys enables the keys that can do something now.
func (m *Model) enableKeys() {
	setting, some := m.list.current()
	m.keys.edit.SetEnabled(some)
	m.keys.reset.SetEnabled(some && m.overview.Own[setting.Key].From != nil && m.overview.Own[setting.Key].Source().Kind == config.UserFile)
	m.keys.clear.SetEnabled(m.list.filter.Value() != "")
	m.keys.leave.SetEnabled(true)
	choosing := m.edit != nil && len(m.edit.choices) > 0
	m.keys.up.SetEnabled(choosing)
	m.keys.down.SetEnabled(choosing)
	m.keys.toggle.SetEnabled(choosing && m.edit.multiple)
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	m.enableKeys()
	k := m.keys
	switch {
	case m.edit != nil:
		return []key.Binding{k.save, k.cancel, k.up, k.down, k.toggle}
	case m.list.filtering:
		return searchKeys
	}
	return []key.Binding{k.edit, k.reset, k.filter, k.changed, k.leave, k.next, k.open}
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	m.enableKeys()
	k := m.keys
	switch {
	case m.edit != nil:
		return []keymap.Group{{Title: "Value", Keys: []key.Binding{k.save, k.cancel, k.up, k.down, k.toggle}}}
	case m.list.filtering:
		return []keymap.Group{{Title: "Search", Keys: searchKeys}}
	}
	return []keymap.Group{
		{Title: "Setting", Keys: []key.Binding{k.edit, k.reset, k.open}},
		{Title: "List", Keys: []key.Binding{k.filter, k.clear, k.changed, k.next, k.previous, k.reread, k.leave}},
		cursor.Keys(),
	}
}

// Typing reports whether keys are text now.
func (m *Model) Typing() bool { return m.list.filtering || m.edit != nil }

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.enableKeys()
	switch {
	case m.edit != nil:
		return m.editing(msg)
	case m.list.filtering:
		m.list.typed(msg)
		return nil
	}
	before := m.list.cursor.At()
	if m.list.cursor.Press(msg) {
		m.list.moved(before)
		return nil
	}
	k := m.keys
	switch {
	case key.Matches(msg, k.edit):
		m.startEdit()
	case key.Matches(msg, k.reset):
		return m.unset()
	case key.Matches(msg, k.open):
		return page.Ask(page.EditSettings())
	case key.Matches(msg, k.filter):
		m.list.filtering = true
		m.list.filter.Focus()
	case key.Matches(msg, k.clear):
		m.list.filter.SetValue("")
		m.list.arrange()
	case key.Matches(msg, k.changed):
		m.list.changed = !m.list.changed
		m.list.arrange()
	case key.Matches(msg, k.next):
		m.list.section(1)
	case key.Matches(msg, k.previous):
		m.list.section(-1)
	case key.Matches(msg, k.reread):
		return m.reread()
	case key.Matches(msg, k.leave):
		return page.Leave("", nil)
	}
	return nil
}

// paste adds pasted text to the open field.
func (m *Model) paste(msg tea.PasteMsg) {
	switch {
	case m.edit != nil:
		m.edit.line, _ = m.edit.line.Update(msg)
		m.edit.narrow()
		m.checkChanged()
	case m.list.filtering:
		m.list.filter, _ = m.list.filter.Update(msg)
		m.list.arrange()
	}
}

// wheel handles the mouse wheel.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	if m.edit != nil {
		return
	}
	before := m.list.cursor.At()
	m.list.cursor.Wheel(msg)
	m.list.moved(before)
}

// click selects the setting under the mouse. A click on the selected setting edits it, and
// a click on a value picks that value.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft {
		return nil
	}
	if m.edit != nil {
		return m.pick(msg)
	}
	before, at := m.list.cursor.At(), m.list.at
	if msg.X >= m.listWidth() || msg.Y-listTop >= m.listHeight() || !m.list.cursor.Click(msg.Y-listTop) {
		return nil
	}
	if m.list.rows[m.list.cursor.At()].heading != "" {
		m.list.cursor.Go(before)
		return nil
	}
	m.list.skipHeadings(1)
	if m.list.at == at {
		m.startEdit()
	}
	return nil
}
