package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"aibox/internal/delay"
	"aibox/session/control"
)

// Attend visits the open requests of a running session, and again whenever they change,
// until the session ends, ctx ends or visit fails. Meanwhile the session counts as
// attended: it asks about connections instead of refusing them, so visit's caller must
// show the requests to a user. visit may be nil if the caller learns of them in another
// way. A session of a version that never asks is not an error.
func (s *contact) Attend(ctx context.Context, id ID, visit func([]Request) error) error {
	dir := s.store.Dir(id)
	for isLocked(dir) {
		err := s.store.dial(id).Attend(ctx, func(data json.RawMessage) error {
			var open []Request
			if err := json.Unmarshal(data, &open); err != nil {
				return fmt.Errorf("reading the questions of %s: %w", id, err)
			}
			if visit == nil {
				return nil
			}
			return visit(open)
		})
		var refused *control.RefusedError
		switch {
		case errors.As(err, &refused): // it never asks
			return nil
		case !errors.Is(err, control.ErrNoSupervisor):
			return err
		}
		delay.Wait(ctx, reconnectPause) // its socket will open soon, or it will end
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// AttendAll attends all running sessions, present and future, until ctx ends; see Attend.
// The caller shows what Requests returns.
func (s *contact) AttendAll(ctx context.Context) error {
	changed, err := s.Changed(ctx)
	if err != nil {
		return err
	}
	var attending sync.WaitGroup
	defer attending.Wait()
	var mu sync.Mutex
	attended := map[ID]bool{}
	attend := func(id ID) {
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			delete(attended, id)
		}()
		_ = s.Attend(ctx, id, nil) // the session then refuses at once, and says why
	}
	for ctx.Err() == nil {
		ids, err := s.store.IDs()
		if err != nil {
			return err
		}
		for _, id := range ids {
			mu.Lock()
			known := attended[id]
			if !known && !s.store.ended(id) && isLocked(s.store.Dir(id)) {
				attended[id] = true
				attending.Go(func() { attend(id) })
			}
			mu.Unlock()
		}
		if _, watching := <-changed; !watching { // ctx has ended
			break
		}
	}
	return ctx.Err()
}
