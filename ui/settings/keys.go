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
		edit: keymap.Bind("change", "enter", "e"), reset: keymap.Bind("take out of your file", "delete", "u"),
		open: keymap.Bind("open your file in the editor", "o"), filter: keymap.Bind("filter", "/"), clear: keymap.Bind("clear the filter", "esc"),
		changed: keymap.Bind("only what is set", "c"), next: keymap.Bind("next section", "tab", "]"), previous: keymap.Bind("section before", "shift+tab", "["),
		reread: keymap.Bind("read again", "r"), leave: keymap.Bind("back", "esc", "q"),
		save: keymap.Bind("save", "enter", "ctrl+s"), cancel: keymap.Bind("cancel", "esc", "ctrl+c"),
		up: keymap.Bind("value before", "up", "ctrl+p"), down: keymap.Bind("next value", "down", "ctrl+n"), toggle: keymap.Bind("pick", "space"),
	}
}

// enableKeys enables what can be done with the selected setting.
func (m *Model) enableKeys() {
	setting, some := m.current()
	m.keys.edit.SetEnabled(some)
	m.keys.reset.SetEnabled(some && m.book.Own[setting.Key].From != nil && m.book.Own[setting.Key].Source().Kind == config.UserFile)
	m.keys.clear.SetEnabled(m.filter.Value() != "")
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
	case m.filtering:
		return []key.Binding{keymap.Bind("keep the filter", "enter"), keymap.Bind("clear it", "esc")}
	}
	return []key.Binding{k.edit, k.reset, k.filter, k.changed, k.leave, k.next, k.open}
}

// Keys returns every key that counts now.
func (m *Model) Keys() []keymap.Group {
	m.enableKeys()
	k := m.keys
	if m.edit != nil {
		return []keymap.Group{{Title: "Value", Keys: []key.Binding{k.save, k.cancel, k.up, k.down, k.toggle}}}
	}
	return []keymap.Group{
		{Title: "Setting", Keys: []key.Binding{k.edit, k.reset, k.open}},
		{Title: "List", Keys: []key.Binding{k.filter, k.clear, k.changed, k.next, k.previous, k.reread, k.leave}},
		cursor.Keys(),
	}
}

// Typing reports whether keys are text now.
func (m *Model) Typing() bool { return m.filtering || m.edit != nil }

// press handles one key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.enableKeys()
	switch {
	case m.edit != nil:
		return m.editing(msg)
	case m.filtering:
		m.typed(msg)
		return nil
	}
	before := m.cursor.At()
	if m.cursor.Press(msg) {
		m.moved(before)
		return nil
	}
	k := m.keys
	switch {
	case key.Matches(msg, k.edit):
		m.startEdit()
	case key.Matches(msg, k.reset):
		return m.unset()
	case key.Matches(msg, k.open):
		return page.Ask(page.Command{Args: []string{"config", "edit"}})
	case key.Matches(msg, k.filter):
		m.filtering = true
		m.filter.Focus()
	case key.Matches(msg, k.clear):
		m.filter.SetValue("")
		m.arrange()
	case key.Matches(msg, k.changed):
		m.changed = !m.changed
		m.arrange()
	case key.Matches(msg, k.next):
		m.section(1)
	case key.Matches(msg, k.previous):
		m.section(-1)
	case key.Matches(msg, k.reread):
		return m.reread()
	case key.Matches(msg, k.leave):
		return page.Leave("", nil)
	}
	return nil
}

// moved keeps the cursor off headings after it has moved from a row.
func (m *Model) moved(before int) {
	direction := 1
	if m.cursor.At() < before {
		direction = -1
	}
	m.skipHeadings(direction)
}

// section goes to the first setting of the next section, or of the one before.
func (m *Model) section(direction int) {
	i := m.cursor.At()
	if direction < 0 { // first to the heading of this one
		for i > 0 && m.rows[i].heading == "" {
			i--
		}
	}
	for i += direction; i >= 0 && i < len(m.rows); i += direction {
		if m.rows[i].heading != "" {
			m.cursor.Go(i)
			m.skipHeadings(1)
			return
		}
	}
}

// typed is a key while the user filters.
func (m *Model) typed(msg tea.KeyPressMsg) {
	switch msg.String() {
	case "enter":
		m.filtering = false
		m.filter.Blur()
		return
	case "esc", "ctrl+c":
		m.filtering = false
		m.filter.Blur()
		m.filter.SetValue("")
	case "up", "down", "pgup", "pgdown":
		before := m.cursor.At()
		m.cursor.Press(msg)
		m.moved(before)
		return
	default:
		m.filter, _ = m.filter.Update(msg)
	}
	m.arrange()
}

// paste is text for the line that is typed in.
func (m *Model) paste(msg tea.PasteMsg) {
	switch {
	case m.edit != nil && len(m.edit.choices) == 0:
		m.edit.line, _ = m.edit.line.Update(msg)
		m.checkChanged()
	case m.filtering:
		m.filter, _ = m.filter.Update(msg)
		m.arrange()
	}
}

// wheel scrolls.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	if m.edit != nil {
		return
	}
	before := m.cursor.At()
	m.cursor.Wheel(msg)
	m.moved(before)
}

// click goes to the setting under the mouse; on the selected one it begins to
// change it. On a value it picks that one.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft {
		return nil
	}
	if m.edit != nil {
		return m.pick(msg)
	}
	before, at := m.cursor.At(), m.at
	if msg.X >= m.listWidth() || msg.Y-listTop >= m.listHeight() || !m.cursor.Click(msg.Y-listTop) {
		return nil
	}
	if m.rows[m.cursor.At()].heading != "" {
		m.cursor.Go(before)
		return nil
	}
	m.skipHeadings(1)
	if m.at == at {
		m.startEdit()
	}
	return nil
}
