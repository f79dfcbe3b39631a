package server

import (
	"context"
	"sync"
	"time"
)

// sender sends the events of a stream, and keep-alive events between them. It is safe for
// concurrent use.
type sender[E any] struct {
	pass   func(E) error
	cancel context.CancelFunc // ends the reading of events
	alive  *time.Timer
	every  time.Duration

	mu    sync.Mutex
	err   error // the first one of pass
	ended bool
}

// newSender returns a sender that sends a keep-alive after each interval without events.
// Its end must be called. It calls cancel if a keep-alive cannot be sent.
func newSender[E any](pass func(E) error, alive func() E, cancel context.CancelFunc, every time.Duration) *sender[E] {
	s := &sender[E]{pass: pass, cancel: cancel, every: every}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive = time.AfterFunc(every, func() {
		if s.send(alive()) != nil {
			s.cancel()
		}
	})
	return s
}

// send sends an event. After an error it sends nothing more.
func (s *sender[E]) send(event E) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.ended {
		return s.err
	}
	s.err = s.pass(event)
	s.alive.Reset(s.every)
	return s.err
}

// end stops the keep-alives, and returns the error of the first event that could not be sent.
func (s *sender[E]) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.alive.Stop()
	return s.err
}
