package gateway

import (
	"sync"
	"sync/atomic"
	"time"
)

// slots bounds the number of concurrent requests. A request whose client has stopped
// sending or reading loses its place to another one.
type slots struct {
	limit int

	mu    sync.Mutex
	taken map[*slot]struct{}
}

// slot is the place of one request. It may be nil.
type slot struct {
	since atomic.Int64 // when it started to wait for its client, in nanoseconds; 0 if it does not wait
	evict func()
}

func newSlots(limit int) *slots { return &slots{limit: limit, taken: map[*slot]struct{}{}} }

// take returns a place, or nil when there is none. evict is called, once, when the place
// is needed for another request; it must not block.
func (s *slots) take(evict func()) *slot {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.taken) >= s.limit {
		slowest := s.slowest(time.Now().Add(-stalled).UnixNano())
		if slowest == nil {
			return nil
		}
		delete(s.taken, slowest)
		slowest.evict()
	}
	taken := &slot{evict: evict}
	s.taken[taken] = struct{}{}
	return taken
}

// slowest returns the slot that has waited longest for its client, since before a time.
func (s *slots) slowest(before int64) *slot {
	var slowest *slot
	for other := range s.taken {
		if since := other.since.Load(); since != 0 && since < before {
			slowest, before = other, since
		}
	}
	return slowest
}

func (s *slots) release(taken *slot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.taken, taken)
}

// waiting records that the request waits for its client from now on.
func (s *slot) waiting(now time.Time) {
	if s != nil {
		s.since.Store(now.UnixNano())
	}
}

// working records that it no longer waits.
func (s *slot) working() {
	if s != nil {
		s.since.Store(0)
	}
}
