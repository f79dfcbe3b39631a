package dashboard

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// refuse says why a key that acts on sessions does nothing now. It ignores other keys.
func (m *Model) refuse(msg tea.KeyPressMsg) {
	b, k := m.list.current(), newKeys() // the keys of m are disabled
	if b == nil {
		return
	}
	for _, c := range k.conditional() {
		if !key.Matches(msg, *c.key) {
			continue
		}
		why := b.Obstacle(c.need)
		if c.several && len(m.list.marked) > 0 {
			why = "it applies to none of the marked sessions"
		}
		m.note.Say(msg.String()+" does nothing: "+why, nil)
		return
	}
}
