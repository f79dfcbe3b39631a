package e2b

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// In this header the packages request a keep-alive after that many seconds without another event.
const (
	keepAliveHeader  = "Keepalive-Ping-Interval"
	defaultKeepAlive = 90 * time.Second
	minKeepAlive     = time.Second
	maxKeepAlive     = time.Hour
)

// keepAlive returns the interval of keep-alives in a request.
func keepAlive(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(header.Get(keepAliveHeader), 10, 16)
	if err != nil {
		return defaultKeepAlive
	}
	return min(max(time.Duration(seconds)*time.Second, minKeepAlive), maxKeepAlive)
}

// sender sends events one after the other, and alive after each interval without one.
type sender[E any] struct {
	mu    sync.Mutex
	out   func(E) error
	every time.Duration
	timer *time.Timer
	err   error
	done  bool
}

// newSender returns a sender. It must be closed.
func newSender[E any](header http.Header, alive E, out func(E) error) *sender[E] {
	s := &sender[E]{out: out, every: keepAlive(header)}
	s.timer = time.AfterFunc(s.every, func() { _ = s.send(alive) })
	return s
}

// send sends an event. After an error or close it sends nothing.
func (s *sender[E]) send(event E) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil && !s.done {
		s.err = s.out(event)
		s.timer.Reset(s.every)
	}
	return s.err
}

// close ends the keep-alives. The stream is not used afterwards.
func (s *sender[E]) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	s.timer.Stop()
}
