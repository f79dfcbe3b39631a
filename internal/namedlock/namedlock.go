// Package namedlock has locks by name. Waiting for a lock can be canceled. It keeps nothing for
// a name whose lock is free.
package namedlock

import (
	"context"
	"sync"
)

// Set is a set of locks. The zero value is ready. It is safe for concurrent use.
type Set struct {
	mu   sync.Mutex
	held map[string]chan struct{} // closed when unlocked
}

// Lock waits until the lock of a name is free and takes it, unless ctx ends before. unlock may be
// called several times.
func (s *Set) Lock(ctx context.Context, name string) (unlock func(), err error) {
	for {
		s.mu.Lock()
		held := s.held[name]
		if held == nil {
			mine := make(chan struct{})
			if s.held == nil {
				s.held = map[string]chan struct{}{}
			}
			s.held[name] = mine
			s.mu.Unlock()
			return sync.OnceFunc(func() {
				s.mu.Lock()
				defer s.mu.Unlock()
				delete(s.held, name)
				close(mine)
			}), nil
		}
		s.mu.Unlock()
		select {
		case <-held:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
