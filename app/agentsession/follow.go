package agentsession

import (
	"context"
	"errors"
	"time"

	"aibox/audit"
	"aibox/session"
	"aibox/session/output"
)

// Events visits the events of a session from the number from on, until the session has
// ended: first the recorded events, then the new ones. See manager.Manager.Watch.
func (s *Service) Events(ctx context.Context, id session.ID, from int, visit func(audit.Event) error) error {
	if _, err := s.Find(id); err != nil {
		return err
	}
	return s.Sessions.Watch(ctx, id, max(from, 0), visit)
}

// Wait waits until the session has ended, for at most the given time, and returns its
// current state. changed, which may be nil, receives the live counters whenever they
// change.
func (s *Service) Wait(ctx context.Context, id session.ID, most time.Duration, changed func(session.Live)) (session.Session, error) {
	found, err := s.Find(id)
	if err != nil || found.State.Phase == session.Ended || most <= 0 {
		return found, err
	}
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err = s.Sessions.Watch(waiting, id, 0, func(e audit.Event) error {
		if live, ok := session.LiveOf(e); ok && changed != nil {
			changed(live)
		}
		return nil
	})
	if ctx.Err() != nil {
		return session.Session{}, ctx.Err()
	}
	if err != nil && !errors.Is(err, context.DeadlineExceeded) && waiting.Err() == nil {
		return session.Session{}, err
	}
	return s.Find(id)
}

// Live returns the counters of a session.
func (s *Service) Live(id session.ID) (session.Live, error) {
	if _, err := s.Find(id); err != nil {
		return session.Live{}, err
	}
	return s.Sessions.Live(id)
}

// errEnough ends a visit that has all required data.
var errEnough = errors.New("enough was read")

// Output returns at most most bytes of the agent's output, raw, from the byte offset from
// on, and the offset of the next byte.
func (s *Service) Output(id session.ID, from int64, most int) (text []byte, next int64, err error) {
	if _, err := s.Find(id); err != nil {
		return nil, from, err
	}
	next = max(from, 0)
	_, err = s.Sessions.Output(id, next, func(chunk output.Chunk) error {
		data := chunk.Data
		if room := most - len(text); len(data) > room {
			data = data[:room]
		}
		text, next = append(text, data...), chunk.Offset+int64(len(data))
		if len(text) >= most {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return text, next, err
}
