package dashboard

import (
	"context"
	"errors"
	"time"

	"aibox/session"
	"aibox/session/summary"

	tea "charm.land/bubbletea/v2"
)

// Limits on counting the changes of running sessions. After each count the counter rests
// for countRest times its duration, at least for countPause, which also lets an agent
// finish a batch of writes. A count that takes longer than countLimit is canceled.
const (
	countPause = 2 * time.Second
	countRest  = 50
	countLimit = 5 * time.Second
)

// counter counts the changes of running sessions, one at a time. It counts only visible
// sessions that were active since their last count.
type counter struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the program
	sessions service
	now      func() time.Time
	after    func(time.Duration, tea.Msg) tea.Cmd

	known map[session.ID]count
	under session.ID // being counted; empty for none
	due   bool       // a countDue is scheduled
	free  time.Time  // when the next count may begin
}

// count is the result of a count.
type count struct {
	done    int64 // Summary.Done when it began
	began   time.Time
	changes session.Changes
	err     error
}

// countDue reports that the rest after the last count is over.
type countDue struct{}

// countEnded carries a count.
type countEnded struct {
	id    session.ID
	count count
	took  time.Duration
}

// plan schedules the next count; nil if none is needed.
func (c *counter) plan(visible []*summary.Summary) tea.Cmd {
	if c.due || c.under != "" || c.next(visible) == nil {
		return nil
	}
	c.due = true
	return c.after(max(countPause, c.free.Sub(c.now())), countDue{})
}

// begin starts the next count.
func (c *counter) begin(visible []*summary.Summary) tea.Cmd {
	c.due = false
	b := c.next(visible)
	if b == nil {
		return nil
	}
	c.under = b.ID
	ctx, sessions, now, msg := c.ctx, c.sessions, c.now, countEnded{id: b.ID, count: count{done: b.Done}}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(ctx, countLimit)
		defer cancel()
		msg.count.began = now()
		msg.count.changes, msg.count.err = sessions.CountChanges(ctx, msg.id)
		if ctx.Err() != nil {
			msg.count.err = errors.New("counting took too long")
		}
		msg.took = now().Sub(msg.count.began)
		return msg
	}
}

// end stores a count if its session is still running, and reports whether it is.
func (c *counter) end(msg countEnded, all []summary.Summary) bool {
	c.under, c.free = "", c.now().Add(countRest*msg.took)
	for i := range all {
		if b := &all[i]; b.ID == msg.id && b.Phase == session.Running {
			c.known[b.ID] = msg.count
			c.fill(b)
			return true
		}
	}
	return false
}

// next returns the session to count next: of the visible running sessions that were active
// since their last count, the one with the oldest count.
func (c *counter) next(visible []*summary.Summary) *summary.Summary {
	var next *summary.Summary
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

// apply adds the counts to a new list of sessions, and drops the counts of sessions that
// have ended.
func (c *counter) apply(all []summary.Summary) {
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

// fill adds the count of a session to its summary.
func (c *counter) fill(b *summary.Summary) {
	sum := c.known[b.ID].changes
	b.Changed, b.Files, b.Added, b.Deleted = sum.Files > 0, sum.Files, sum.Added, sum.Deleted
}

// partial reports whether a session may still change more files.
func partial(b *summary.Summary) bool { return b.Phase == session.Running }
