package server

import (
	"context"
	"sync"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/session/process"
)

// sender sends the events of one process, and keep-alive events between them. It is safe
// for concurrent use.
type sender struct {
	pass   func(*aiboxv1.ProcessEvent) error
	cancel context.CancelFunc // ends the reading of events
	alive  *time.Timer
	every  time.Duration

	mu    sync.Mutex
	err   error // the first one of pass
	ended bool
}

// newSender returns a sender that sends a keep-alive after each interval without events.
// Its end must be called. It calls cancel if a keep-alive cannot be sent.
func newSender(pass func(*aiboxv1.ProcessEvent) error, cancel context.CancelFunc, every time.Duration) *sender {
	s := &sender{pass: pass, cancel: cancel, every: every}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive = time.AfterFunc(every, func() {
		if s.send(aliveEvent()) != nil {
			s.cancel()
		}
	})
	return s
}

// send sends an event. After an error it sends nothing more.
func (s *sender) send(event *aiboxv1.ProcessEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.ended {
		return s.err
	}
	s.err = s.pass(event)
	s.alive.Reset(s.every)
	return s.err
}

// sendFrame sends the event of a frame.
func (s *sender) sendFrame(frame process.Frame) error {
	event, err := toEvent(frame)
	if err != nil {
		return err
	}
	return s.send(event)
}

// end stops the keep-alives, and returns the error of the first event that could not be sent.
func (s *sender) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.alive.Stop()
	return s.err
}
