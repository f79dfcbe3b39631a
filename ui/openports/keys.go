package openports

import (
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's keys.
type keys struct {
	open, browse, copy, close, back key.Binding
}

func newKeys() keys {
	return keys{
		open: keymap.Bind("open on this machine", "enter"), browse: keymap.Bind("browser", "o"), copy: keymap.Bind("copy the address", "c"),
		close: keymap.Bind("close the port", "x"), back: keymap.Bind("back", "esc", "q"),
	}
}

// enableKeys enables the keys that can do something now.
func (m *Model) enableKeys() {
	row := m.current()
	held, open := row != nil && row.shown, row != nil && row.open()
	m.keys.open.SetEnabled(row != nil && (!held || row.held.Err != nil))
	m.keys.browse.SetEnabled(open)
	m.keys.copy.SetEnabled(open)
	m.keys.close.SetEnabled(held)
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	m.enableKeys()
	k := m.keys
	return []key.Binding{k.open, k.browse, k.copy, k.close, k.back}
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	return []keymap.Group{{Title: "Ports", Keys: m.Short()}, cursor.Keys()}
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.enableKeys()
	k, row := m.keys, m.current()
	switch {
	case key.Matches(msg, k.back):
		return page.Leave("", nil)
	case key.Matches(msg, k.open, k.close, k.browse, k.copy) && dialog.Turned(m.turned, m.now(), "port", &m.note):
		return nil
	case key.Matches(msg, k.open):
		m.note.Say("", nil)
		m.opened.Open(m.id, row.port)
	case key.Matches(msg, k.close):
		m.note.Say("", nil)
		m.opened.Close(m.id, row.port)
	case key.Matches(msg, k.browse):
		ctx, browse, address := m.ctx, m.browse, row.url()
		m.note.Say("opening "+address, nil)
		return func() tea.Msg { return browsed{browse(ctx, address)} }
	case key.Matches(msg, k.copy):
		m.note.Say("copied: "+row.url(), nil)
		return tea.SetClipboard(row.url())
	default:
		m.note.Say("", nil) // it was about the last key
		m.cursor.Press(msg)
		return nil
	}
	m.arrange()
	return nil
}
