package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"aibox/internal/delay"
	"aibox/session"
	"aibox/session/control"
)

// WatchRequests visits the open requests of a running session, and again whenever they
// change, until the session ends, ctx ends or visit fails. Meanwhile the session asks about
// connections instead of refusing them, so visit's caller must show the requests to a user.
// visit may be nil if the caller gets them in another way. It is no error if the session's
// version never asks.
func (s *Client) WatchRequests(ctx context.Context, id session.ID, visit func([]session.Request) error) error {
	for more := s.mayReach(id); more(); {
		err := s.dial(id).WatchRequests(ctx, func(data json.RawMessage) error {
			var open []session.Request
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
		case errors.As(err, &refused): // this version never asks
			return nil
		case !errors.Is(err, control.ErrNoSupervisor):
			return err
		}
		delay.Wait(ctx, reconnectPause) // its socket will open soon, or the session will end
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// WatchAllRequests watches the requests of all running sessions, present and future, until
// ctx ends or the sessions cannot be listed; see WatchRequests. The caller shows what Requests
// returns.
func (s *Client) WatchAllRequests(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel()
	changed, err := s.Changed(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	watched := map[session.ID]bool{}
	watch := func(id session.ID) {
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			delete(watched, id)
		}()
		_ = s.WatchRequests(ctx, id, nil) // the session then refuses at once, and says why
	}
	for ctx.Err() == nil {
		ids, err := s.store.IDs()
		if err != nil {
			return err
		}
		for _, id := range ids {
			mu.Lock()
			known := watched[id]
			if !known && !s.store.Ended(id) && session.IsLocked(s.store.Dir(id)) {
				watched[id] = true
				watching.Go(func() { watch(id) })
			}
			mu.Unlock()
		}
		if _, ok := <-changed; !ok { // ctx has ended
			break
		}
	}
	return ctx.Err()
}
