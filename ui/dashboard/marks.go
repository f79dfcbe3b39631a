package dashboard

import (
	"aibox/session"
	"aibox/ui/widget/cursor"
)

// mark marks the session a person is at, or unmarks it, and goes on to the next one.
func (m *Model) mark() {
	b := m.current()
	if b == nil {
		return
	}
	if m.marked[b.ID] {
		delete(m.marked, b.ID)
	} else {
		m.marked[b.ID] = true
	}
	m.moved(func(c *cursor.Cursor) bool { c.Go(c.At() + 1); return true })
}

// markAll marks every session of the list; where all are marked already, none.
func (m *Model) markAll() {
	all := true
	for _, r := range m.rows {
		all = all && (r.brief == nil || m.marked[r.brief.ID])
	}
	clear(m.marked)
	if all {
		return
	}
	for _, r := range m.rows {
		if r.brief != nil {
			m.marked[r.brief.ID] = true
		}
	}
}

// forget drops the marks of sessions that are gone.
func (m *Model) forget() {
	if len(m.marked) == 0 {
		return
	}
	there := make(map[session.ID]bool, len(m.all))
	for i := range m.all {
		there[m.all[i].ID] = true
	}
	for id := range m.marked {
		if !there[id] {
			delete(m.marked, id)
		}
	}
}

// chosen are the sessions that an action is about: those that are marked and in the
// list, else the one a person is at.
func (m *Model) chosen() []*session.Summary {
	var chosen []*session.Summary
	if len(m.marked) > 0 {
		for _, r := range m.rows {
			if r.brief != nil && m.marked[r.brief.ID] {
				chosen = append(chosen, r.brief)
			}
		}
	}
	if b := m.current(); b != nil && len(chosen) == 0 {
		chosen = append(chosen, b)
	}
	return chosen
}

// able are those of the chosen sessions that something can be done with.
func (m *Model) able(can func(session.Actions) bool) []*session.Summary {
	var able []*session.Summary
	for _, b := range m.chosen() {
		if can(b.Actions()) {
			able = append(able, b)
		}
	}
	return able
}

func canStop(o session.Actions) bool      { return o.Stop }
func canDiscard(o session.Actions) bool   { return o.Discard }
func canBringBack(o session.Actions) bool { return o.Restore }
func canRemove(o session.Actions) bool    { return o.Remove }
