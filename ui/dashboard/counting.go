package dashboard

import (
	"context"
	"errors"
	"time"

	"aibox/session"

	tea "charm.land/bubbletea/v2"
)

// What the counts of sessions that run may cost: after each, countRest times as long as
// it took is rested, and never less than countPause, which also lets an agent end what
// it has begun. One that takes longer than countLimit is given up.
const (
	countPause = 2 * time.Second
	countRest  = 50
	countLimit = 5 * time.Second
)

// counting is how the screen knows what sessions that run have changed: it has them
// counted one at a time, and only those that are to be seen and have done something
// since.
type counting struct {
	known map[session.ID]count
	under session.ID // whose count is under way; empty is nobody's
	due   bool       // a countDue is on its way
	free  time.Time  // when the next may begin
}

// count is what was counted of a session, or why it could not be.
type count struct {
	done    int64 // Brief.Done when it began
	began   time.Time
	changes session.Changes
	err     error
}

// countDue says that the rest after the last count is over.
type countDue struct{}

// countEnded brings a count.
type countEnded struct {
	id    session.ID
	count count
	took  time.Duration
}

// planCount has the next count begin when it may; nil when there is none to be made.
func (m *Model) planCount() tea.Cmd {
	c := &m.counting
	if c.due || c.under != "" || c.next(m.visible()) == nil {
		return nil
	}
	c.due = true
	return m.after(max(countPause, c.free.Sub(m.now())), countDue{})
}

// beginCount counts the session whose turn it is.
func (m *Model) beginCount() tea.Cmd {
	m.counting.due = false
	b := m.counting.next(m.visible())
	if b == nil {
		return nil
	}
	m.counting.under = b.ID
	ctx, sessions, now, msg := m.ctx, m.sessions, m.now, countEnded{id: b.ID, count: count{done: b.Done}}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, countLimit)
		defer cancel()
		msg.count.began = now()
		msg.count.changes, msg.count.err = sessions.CountChanges(ctx, msg.id)
		if ctx.Err() != nil {
			msg.count.err = errors.New("it takes too long while the agent works")
		}
		msg.took = now().Sub(msg.count.began)
		return msg
	}
}

// endCount takes a count; of a session that does not run any more, nothing but how long
// it took.
func (m *Model) endCount(msg countEnded) {
	c := &m.counting
	c.under, c.free = "", m.now().Add(countRest*msg.took)
	for i := range m.all {
		if b := &m.all[i]; b.ID == msg.id && b.Phase == session.Running {
			c.known[b.ID] = msg.count
			c.fill(b)
			m.arrange()
			return
		}
	}
}

// next returns the session to count next: of the visible ones that run and have done
// something since they were counted, the one with the oldest count.
func (c *counting) next(visible []*session.Summary) *session.Summary {
	var next *session.Summary
	for _, b := range visible {
		known := c.known[b.ID]
		if b.Phase != session.Running || b.Done == known.done {
			continue
		}
		if next == nil || known.began.Before(c.known[next.ID].began) {
			next = b
		}
	}
	return next
}

// visible returns the sessions whose changes are on the screen.
func (m *Model) visible() []*session.Summary {
	if m.covered {
		return nil
	}
	var visible []*session.Summary
	if layout := layoutOf(m.listWidth()); layout[byChanges] > 0 {
		for _, r := range m.list.rows[m.list.top:min(len(m.list.rows), m.list.top+m.listHeight())] {
			if r.brief != nil {
				visible = append(visible, r.brief)
			}
		}
	}
	if b := m.list.current(); b != nil && m.preview {
		visible = append(visible, b)
	}
	return visible
}

// apply puts the counts into a new list of sessions and drops those of sessions that no
// longer run.
func (c *counting) apply(all []session.Summary) {
	was := c.known
	c.known = make(map[session.ID]count, len(was))
	for i := range all {
		b := &all[i]
		if known, there := was[b.ID]; there && b.Phase == session.Running {
			c.known[b.ID] = known
			c.fill(b)
		}
	}
}

// fill puts the count of a session into its brief.
func (c *counting) fill(b *session.Summary) {
	sum := c.known[b.ID].changes
	b.Changed, b.Files, b.Added, b.Deleted = sum.Files > 0, sum.Files, sum.Added, sum.Deleted
}

// partial reports whether what is known of a session's changes is not the end of them.
func partial(b *session.Summary) bool { return b.Phase == session.Running }
