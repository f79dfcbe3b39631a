package dashboard

import (
	"aibox/session/summary"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// refuse says why a key that acts on sessions does nothing now. It ignores other keys.
func (m *Model) refuse(msg tea.KeyPressMsg) {
	b, k := m.list.current(), newKeys()
	if b == nil {
		return
	}
	for _, c := range []struct {
		key  key.Binding
		need summary.Need
	}{
		{k.stop, summary.NeedsStop},
		{k.enter, summary.NeedsSandbox},
		{k.ports, summary.NeedsSandbox},
		{k.snapshot, summary.NeedsSnapshot},
		{k.sendBack, summary.NeedsSendBack},
		{k.fork, summary.NeedsSendBack},
		{k.review, summary.NeedsReview},
		{k.diff, summary.NeedsDiff},
		{k.accept, summary.NeedsAccept},
		{k.discard, summary.NeedsDiscard},
		{k.restore, summary.NeedsRestore},
		{k.remove, summary.NeedsRemove},
		{k.workspace, summary.NeedsWorkspace},
	} {
		if !key.Matches(msg, c.key) {
			continue
		}
		why := b.Obstacle(c.need)
		if len(m.list.marked) > 0 && key.Matches(msg, k.stop, k.discard, k.restore, k.remove) {
			why = "it applies to none of the marked sessions"
		}
		m.note.Say(msg.String()+" does nothing: "+why, nil)
		return
	}
}
