package egress

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"aibox/netguard"
)

// recorder passes events on within a budget, because a sandbox with a flood of requests must
// fill neither the disk nor the log. Events that are left out are counted in the next event
// like them, or in a summary of their kind.
type recorder struct {
	record func(Event) string // nil records nothing

	mu      sync.Mutex
	like    map[likeness]*similar
	rest    map[EventKind]*similar // left out, and not counted in like
	budget  int                    // records left in this second
	refill  time.Time              // when the budget is full again
	flushed time.Time
}

// Bounds of recording. Two kinds of records are exempt: the ends of recorded requests, and
// one summary for each EventKind in alikeFor.
const (
	recordsPerSecond = 100
	recordsAlike     = 20 // in alikeFor
	alikeFor         = 10 * time.Second
	maxLike          = 1024
)

// OtherHosts is the Host of an Event that summarizes requests to several hosts, which were
// left out because there were too many. Its Destination is the zero value.
const OtherHosts = "other hosts"

// likeness is the common part of similar events.
type likeness struct {
	kind   EventKind
	to     netguard.Destination
	method string
	code   string
}

// similar counts similar events.
type similar struct {
	recorded int
	left     int    // events that were left out since the last recorded one
	last     Event  // the last of those
	id       string // of the last recorded one
	up, down int64  // of those that were left out
}

// leaveOut counts an event that is not recorded.
func (s *similar) leaveOut(e Event) {
	s.left += 1 + e.Repeated
	s.last = e
	s.up, s.down = s.up+e.Up, s.down+e.Down
}

// summary returns one event for all that were left out.
func (s *similar) summary() Event {
	e := s.last
	e.Repeated, e.Up, e.Down = s.left-1, s.up, s.down
	return e
}

func newRecorder(record func(Event) string) recorder {
	return recorder{record: record, like: map[likeness]*similar{}, rest: map[EventKind]*similar{}}
}

// add records an event or counts it, and returns its id or that of an earlier one like it.
// recorded is false if it was left out. Do not leave out the end of a recorded event.
func (r *recorder) add(e Event, must bool) (id string, recorded bool) {
	if r.record == nil {
		return "", true
	}
	e.Host, e.Path, e.Method = clip(e.Host, 1<<10), clip(e.Path, 1<<10), clip(e.Method, 32)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick(e.Time)
	s := r.similarTo(e)
	if !must && (r.budget <= 0 || s != nil && s.recorded >= recordsAlike) {
		if s == nil {
			r.leaveOutOther(e)
			return "", false
		}
		s.leaveOut(e)
		return s.id, false
	}
	r.budget--
	if s == nil {
		return r.record(e), true
	}
	s.recorded++
	e.Repeated, e.Up, e.Down = s.left, e.Up+s.up, e.Down+s.down
	s.left, s.up, s.down = 0, 0, 0
	s.id = r.record(e)
	return s.id, true
}

// similarTo returns the entry for events similar to e, or nil if there are too many entries.
// The caller holds r.mu.
func (r *recorder) similarTo(e Event) *similar {
	key := likeness{e.Kind, e.Destination, e.Method, e.Code}
	s := r.like[key]
	if s == nil && len(r.like) < maxLike {
		s = &similar{}
		r.like[key] = s
	}
	return s
}

// leaveOutOther counts an event in the summary of its kind. The caller holds r.mu.
func (r *recorder) leaveOutOther(e Event) {
	s := r.rest[e.Kind]
	if s == nil {
		s = &similar{}
		r.rest[e.Kind] = s
	}
	s.leaveOut(Event{
		Kind: e.Kind, Time: e.Time, Host: OtherHosts, Code: "flood", Reason: "too many requests to record each",
		Repeated: e.Repeated, Up: e.Up, Down: e.Down,
	})
}

// tick starts a new second and a new period for similar events. The caller holds r.mu.
func (r *recorder) tick(now time.Time) {
	if now.After(r.refill) {
		r.budget, r.refill = recordsPerSecond, now.Add(time.Second)
	}
	if now.Sub(r.flushed) > alikeFor {
		r.flush()
		r.flushed = now
	}
}

// flush records the events that were left out, the most frequent first, and forgets them.
// Those beyond the budget become one record for each EventKind. The caller holds r.mu.
func (r *recorder) flush() {
	var left []*similar
	for _, s := range r.like {
		if s.left > 0 {
			left = append(left, s)
		}
	}
	slices.SortFunc(left, func(a, b *similar) int { return cmp.Compare(b.left, a.left) })
	for _, s := range left {
		if r.budget <= 0 {
			r.leaveOutOther(s.summary())
			continue
		}
		r.budget--
		r.record(s.summary())
	}
	for _, kind := range []EventKind{Allowed, Refused, Closed} {
		if s := r.rest[kind]; s != nil {
			r.record(s.summary())
		}
	}
	clear(r.like)
	clear(r.rest)
}

// close records the events that were left out.
func (r *recorder) close() {
	if r.record == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.budget = recordsPerSecond
	r.flush()
}
