package cli

import (
	"context"
	"slices"
	"sync"

	"aibox/agents/conversation"
	"aibox/audit"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/manager"
	"aibox/ui/traffic"
)

// accessMerger merges the network accesses in a session's log into the events of its
// conversation, by time.
type accessMerger struct {
	reading sync.WaitGroup
	offset  int64 // of the last event
	begun   bool  // something was said that is not the task

	mu   sync.Mutex
	held []conversation.Event // accesses, in order of time
}

// mergeAccesses reads the log of a session, and follows it until the session or ctx ends if
// follow is set. A damaged log has the accesses before the damage: `aibox audit
// --verify` reports it.
func mergeAccesses(ctx context.Context, service *manager.Manager, id session.ID, follow bool) *accessMerger {
	m := &accessMerger{}
	visit := func(e audit.Event) error {
		if access, ok := auditlog.AccessOf(id, e); ok {
			m.hold(traffic.Event(access))
		}
		return nil
	}
	if follow {
		m.reading.Go(func() { _ = service.Watch(ctx, id, 0, visit) })
	} else {
		_ = service.Logged(id, visit)
	}
	return m
}

// hold adds an access to those that are not merged yet.
func (m *accessMerger) hold(access conversation.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := len(m.held)
	for i > 0 && m.held[i-1].Time.After(access.Time) { // the clock was set back
		i--
	}
	m.held = slices.Insert(m.held, i, access)
}

// merge returns the events with the accesses that came before each of them. The task comes
// first, and nothing comes between the pieces of a message.
func (m *accessMerger) merge(events []conversation.Event) []conversation.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []conversation.Event
	for _, e := range events {
		m.begun = m.begun || e.Kind != conversation.Start && (e.Kind != conversation.Message || e.Role != conversation.User)
		if m.begun && !e.Delta {
			n := 0
			for n < len(m.held) && m.held[n].Time.Before(e.Time) {
				n++
			}
			all = m.take(all, n)
		}
		m.offset = e.Offset
		all = append(all, e)
	}
	return all
}

// rest returns the accesses after the last event. Of a session that is followed, it waits
// for the end of the log.
func (m *accessMerger) rest() []conversation.Event {
	m.reading.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.take(nil, len(m.held))
}

// take moves the first n held accesses to the end of all. m.mu is held.
func (m *accessMerger) take(all []conversation.Event, n int) []conversation.Event {
	for _, access := range m.held[:n] {
		access.Offset = m.offset
		all = append(all, access)
	}
	m.held = m.held[n:]
	return all
}
