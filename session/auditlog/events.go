package auditlog

import (
	"container/heap"
	"errors"
	"iter"
	"time"

	"aibox/audit"
)

// AuditEvents visits the events of logs in the order of their time. Events of one log stay
// in its order, even if the clock was changed. A damaged log is visited up to the damage,
// which is in the error as a *DamagedLog. A log without events is damaged: each one begins with the
// start of its session. AuditEvents stops at visit's first error.
func (s *Logs) AuditEvents(logs []Log, visit func(Event) error) error {
	m := merge{verify: s.VerifyAudit}
	defer m.close()
	for _, log := range logs {
		m.add(&cursor{log: log})
	}
	for len(m.open) > 0 {
		at := m.open[0]
		if at.next != nil { // its events have not been visited yet
			if err := visit(at.event); err != nil {
				return err
			}
		}
		m.advance()
	}
	return errors.Join(m.damaged...)
}

// DamagedLog is the damage of a session's log. It is an audit.ErrBroken.
type DamagedLog struct {
	Log
	Err error
}

func (d *DamagedLog) Error() string { return string(d.Session) + ": " + d.Err.Error() }

func (d *DamagedLog) Unwrap() error { return d.Err }

// cursor is a position in one log.
type cursor struct {
	log   Log
	time  time.Time // time of event, or of the previous event if that is later
	event Event
	next  func() (audit.Event, error, bool) // nil until its first event is due
	stop  func()
}

// merge merges logs by time. Few logs overlap, so a log is opened when its first event is
// due.
type merge struct {
	open    cursors
	damaged []error
	verify  func(Log) (audit.Verified, error)
}

// errEnough stops the reading of a log.
var errEnough = errors.New("enough")

// add adds a log at the time of its first event.
func (m *merge) add(c *cursor) {
	var first *audit.Event
	err := audit.Read(c.log.Path, func(e audit.Event) error {
		first = &e
		return errEnough
	})
	if first != nil {
		c.time = first.Time
		heap.Push(&m.open, c)
		return
	}
	if err == nil {
		err = m.emptied(c.log)
	}
	if err != nil {
		m.damaged = append(m.damaged, &DamagedLog{c.log, err})
	}
}

// emptied returns the damage of a log without events; nil if its session is about to start.
func (m *merge) emptied(log Log) error {
	verified, err := m.verify(log)
	if err != nil || len(verified.Damage) == 0 {
		return err
	}
	return verified.Damage[0]
}

// advance moves the first log to its next event.
func (m *merge) advance() {
	c := m.open[0]
	if c.next == nil {
		c.next, c.stop = iter.Pull2(events(c.log.Path))
	}
	e, err, more := c.next()
	if err != nil {
		m.damaged = append(m.damaged, &DamagedLog{c.log, err})
	}
	if err != nil || !more {
		c.stop()
		heap.Pop(&m.open)
		return
	}
	c.event = Event{c.log.Session, e}
	if e.Time.After(c.time) {
		c.time = e.Time
	}
	heap.Fix(&m.open, 0)
}

// close closes the logs that were not read to their end.
func (m *merge) close() {
	for _, c := range m.open {
		if c.stop != nil {
			c.stop()
		}
	}
}

// events are the events of a log, followed by its error, if any.
func events(path string) iter.Seq2[audit.Event, error] {
	return func(yield func(audit.Event, error) bool) {
		err := audit.Read(path, func(e audit.Event) error {
			if !yield(e, nil) {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(audit.Event{}, err)
		}
	}
}

// cursors is a heap by time.
type cursors []*cursor

func (c cursors) Len() int { return len(c) }
func (c cursors) Less(i, j int) bool {
	if !c[i].time.Equal(c[j].time) {
		return c[i].time.Before(c[j].time)
	}
	return c[i].log.Session < c[j].log.Session
}
func (c cursors) Swap(i, j int) { c[i], c[j] = c[j], c[i] }
func (c *cursors) Push(x any)   { *c = append(*c, x.(*cursor)) }
func (c *cursors) Pop() any {
	last := (*c)[len(*c)-1]
	*c = (*c)[:len(*c)-1]
	return last
}
