package server

import (
	"context"
	"sync"
	"time"

	"aibox/api/auth"
	"aibox/session"
)

// recheck is how often the token of a running call is checked again.
const recheck = 30 * time.Second

// callerOf returns the caller of a tenant whose token has an id.
func (s *Server) callerOf(ctx context.Context, tenant session.Tenant, id string) (auth.Caller, error) {
	if s.options.Tokens == nil {
		return auth.Caller{}, errUnauthenticated
	}
	caller, err := s.options.Tokens.Caller(ctx, id)
	if err == nil && caller.Tenant != tenant {
		return auth.Caller{}, errUnauthenticated
	}
	return caller, s.tokenError(ctx, err)
}

// whileValid returns a context that ends when the token of a caller is no longer valid: a call can
// last as long as its sandbox, and with it what a revoked token permits. end must be called at
// the end of the call.
func (s *Server) whileValid(ctx context.Context, caller auth.Caller) (valid context.Context, end func()) {
	if caller.Token == "" { // the machine's user, whose rights do not end
		return ctx, func() {}
	}
	valid, cancel := context.WithCancelCause(ctx)
	var mu sync.Mutex // guards timer
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(s.recheck, func() {
		if _, err := s.callerOf(valid, caller.Tenant, caller.Token); err != nil {
			cancel(err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		if valid.Err() == nil {
			timer.Reset(s.recheck)
		}
	})
	return valid, func() {
		mu.Lock()
		defer mu.Unlock()
		cancel(nil)
		timer.Stop()
	}
}
