// Package eventstream sends the events of server streams, with keep-alive events between them.
// It never looks into an event.
package eventstream

import (
	"context"
	"sync"
	"time"
)

// Alive is the usual time between keep-alive events. It is shorter than what proxies and clients wait
// for.
const Alive = 15 * time.Second

// Sender sends the events of a stream, and keep-alive events between them. It is safe for
// concurrent use.
type Sender[E any] struct {
	pass   func(E) error
	cancel context.CancelFunc // ends the reading of events
	alive  *time.Timer
	every  time.Duration

	mu    sync.Mutex
	err   error // the first one of pass
	ended bool
}

// NewSender returns a sender that sends a keep-alive after each interval without events.
// Its End must be called. It calls cancel if a keep-alive cannot be sent.
func NewSender[E any](pass func(E) error, alive func() E, cancel context.CancelFunc, every time.Duration) *Sender[E] {
	s := &Sender[E]{pass: pass, cancel: cancel, every: every}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive = time.AfterFunc(every, func() {
		if s.Send(alive()) != nil {
			s.cancel()
		}
	})
	return s
}

// Send sends an event. After an error it sends nothing more.
func (s *Sender[E]) Send(event E) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.ended {
		return s.err
	}
	s.err = s.pass(event)
	s.alive.Reset(s.every)
	return s.err
}

// End stops the keep-alives, and returns the error of the first event that could not be sent.
func (s *Sender[E]) End() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.alive.Stop()
	return s.err
}
