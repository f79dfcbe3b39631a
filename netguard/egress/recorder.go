package egress

import (
	"sync"
	"time"

	"aibox/netguard"
)

// recorder passes events on, but not a flood of them: a sandbox that repeats a request
// thousands of times must fill neither the disk nor the log. Events that are left out are
// counted in the next one like them.
type recorder struct {
	record func(Event) string // nil records nothing

	mu      sync.Mutex
	like    map[likeness]*similar
	budget  int       // records left in this second
	refill  time.Time // when the budget is full again
	flushed time.Time
}

// Bounds of recording.
const (
	recordsPerSecond = 100
	recordsAlike     = 20 // in alikeFor
	alikeFor         = 10 * time.Second
	maxLike          = 1024
)

// likeness is what similar events have in common.
type likeness struct {
	kind   EventKind
	to     netguard.Destination
	method string
	code   string
}

// similar are events alike.
type similar struct {
	since    time.Time
	recorded int
	left     int    // events that were left out since the last recorded one
	last     Event  // the last of those
	id       string // of the last recorded one
	up, down int64  // of those that were left out
}

// add records an event or counts it, and returns its id or that of an earlier one like it.
// recorded is false if it was left out. An event that must not be left out is the end of one
// that was recorded.
func (r *recorder) add(e Event, must bool) (id string, recorded bool) {
	if r.record == nil {
		return "", true
	}
	e.Host, e.Path, e.Method = clip(e.Host, 1<<10), clip(e.Path, 1<<10), clip(e.Method, 32)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tick(e.Time)
	key := likeness{e.Kind, e.Destination, e.Method, e.Code}
	s, ok := r.like[key]
	if !ok {
		if len(r.like) >= maxLike {
			r.flush()
		}
		s = &similar{since: e.Time}
		r.like[key] = s
	}
	if !must && (r.budget <= 0 || s.recorded >= recordsAlike) {
		s.left++
		s.last = e
		s.up, s.down = s.up+e.Up, s.down+e.Down
		return s.id, false
	}
	s.recorded++
	r.budget--
	e.Repeated, e.Up, e.Down = s.left, e.Up+s.up, e.Down+s.down
	s.left, s.up, s.down = 0, 0, 0
	s.id = r.record(e)
	return s.id, true
}

// tick begins a new second and a new period of events alike. The caller holds r.mu.
func (r *recorder) tick(now time.Time) {
	if now.After(r.refill) {
		r.budget, r.refill = recordsPerSecond, now.Add(time.Second)
	}
	if now.Sub(r.flushed) > alikeFor {
		r.flush()
		r.flushed = now
	}
}

// flush records what was left out and forgets all. The caller holds r.mu.
func (r *recorder) flush() {
	for _, s := range r.like {
		if s.left > 0 {
			e := s.last
			e.Repeated, e.Up, e.Down = s.left-1, s.up, s.down
			r.record(e)
		}
	}
	r.like = map[likeness]*similar{}
}

// close records what was left out.
func (r *recorder) close() {
	if r.record == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
}
