package gateway

import (
	"sync"

	"aibox/internal/redact"
)

// secretSets holds the values that no answer may contain. They change when the upstream
// gets a new key.
type secretSets struct {
	mu      sync.Mutex
	current *redact.Set
	version int
}

// secrets returns the current values.
func (g *Gateway) secrets() *redact.Set {
	s := &g.secretSets
	s.mu.Lock()
	defer s.mu.Unlock()
	if version := g.upstream.KeyVersion(); s.current == nil || s.version != version {
		s.current, s.version = g.upstream.Secrets(), version
	}
	return s.current
}
