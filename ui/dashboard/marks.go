package dashboard

import (
	"aibox/session"
	"aibox/session/summary"
	"aibox/ui/widget/cursor"
)

// mark marks or unmarks the selected session and selects the next one.
func (l *list) mark() {
	b := l.current()
	if b == nil {
		return
	}
	if l.marked[b.ID] {
		delete(l.marked, b.ID)
	} else {
		l.marked[b.ID] = true
	}
	l.move(func(c *cursor.Cursor) bool { c.Go(c.At() + 1); return true })
}

// markAll marks every session of the list, or none if all are marked.
func (l *list) markAll() {
	all := true
	for _, r := range l.rows {
		all = all && (r.brief == nil || l.marked[r.brief.ID])
	}
	clear(l.marked)
	if all {
		return
	}
	for _, r := range l.rows {
		if r.brief != nil {
			l.marked[r.brief.ID] = true
		}
	}
}

// forget drops the marks of sessions that are gone.
func (l *list) forget(all []summary.Summary) {
	if len(l.marked) == 0 {
		return
	}
	there := make(map[session.ID]bool, len(all))
	for i := range all {
		there[all[i].ID] = true
	}
	for id := range l.marked {
		if !there[id] {
			delete(l.marked, id)
		}
	}
}

// markedRows returns the marked sessions of the list. The filter can hide others.
func (l *list) markedRows() []*summary.Summary {
	if len(l.marked) == 0 {
		return nil
	}
	var marked []*summary.Summary
	for _, r := range l.rows {
		if r.brief != nil && l.marked[r.brief.ID] {
			marked = append(marked, r.brief)
		}
	}
	return marked
}

// chosen returns the sessions that an action applies to: the marked ones in the list,
// else the selected one.
func (l *list) chosen() []*summary.Summary {
	chosen := l.markedRows()
	if b := l.current(); b != nil && len(chosen) == 0 {
		chosen = append(chosen, b)
	}
	return chosen
}

// able returns the chosen sessions that allow an action.
func (l *list) able(need summary.Need) []*summary.Summary {
	var able []*summary.Summary
	for _, b := range l.chosen() {
		if b.Meets(need) {
			able = append(able, b)
		}
	}
	return able
}
