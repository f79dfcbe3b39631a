package dashboard

import (
	"aibox/session/summary"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// refuse says why a key that acts on sessions does nothing now. It ignores other keys.
func (m *Model) refuse(msg tea.KeyPressMsg) {
	b, k, need := m.list.current(), newKeys(), summary.NeedsWork
	switch {
	case b == nil:
		return
	case key.Matches(msg, k.stop, k.enter, k.ports, k.snapshot):
		need = summary.NeedsSandbox
	case key.Matches(msg, k.sendBack, k.fork):
		need = summary.NeedsConversation
	case !key.Matches(msg, k.review, k.diff, k.accept, k.discard, k.restore, k.remove, k.workspace):
		return
	}
	why := b.Obstacle(need)
	if len(m.list.marked) > 0 && key.Matches(msg, k.stop, k.discard, k.restore, k.remove) {
		why = "it fits none of the marked sessions"
	}
	m.note.Say(msg.String()+" does nothing: "+why, nil)
}
