package snapshots

import (
	"slices"

	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// choice is the list of running sandboxes, one of which a snapshot is taken of.
type choice struct {
	open   bool
	cursor cursor.Cursor
}

// setSandboxes stores the sandboxes that run. The selected one stays selected.
func (m *Model) setSandboxes(all []summary.Summary) {
	var at session.ID
	if i := m.choice.cursor.At(); i < len(m.sandboxes) {
		at = m.sandboxes[i].ID
	}
	m.sandboxes = all
	m.choice.cursor.Fit(len(all), m.listHeight())
	if i := slices.IndexFunc(all, func(b summary.Summary) bool { return b.ID == at }); i >= 0 {
		m.choice.cursor.Go(i)
	} else if m.choice.open {
		m.turned = m.now()
	}
	m.choice.open = m.choice.open && len(all) > 0
}

// pressChoice handles a key while a sandbox is chosen.
func (m *Model) pressChoice(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(msg, m.keys.cancel):
		m.choice.open = false
	case key.Matches(msg, m.keys.choose) && dialog.Turned(m.turned, m.now(), "sandbox", &m.note):
	case key.Matches(msg, m.keys.choose):
		m.choice.open = false
		if at := m.choice.cursor.At(); at < len(m.sandboxes) {
			return m.take(m.sandboxes[at].ID)
		}
	default:
		m.choice.cursor.Press(msg)
	}
	return nil
}
