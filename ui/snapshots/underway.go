package snapshots

import (
	"context"
	"maps"
	"slices"
	"sync"

	"aibox/session"
)

// Underway is a store that knows which of its actions have not ended. Taking a snapshot and starting a
// sandbox continue after the screen is closed.
type Underway struct {
	Store
	mu      sync.Mutex
	actions map[string]int // how many, by description
}

// Take takes a snapshot.
func (u *Underway) Take(ctx context.Context, sandbox session.ID) (string, error) {
	defer u.begin("the snapshot of " + string(sandbox))()
	return u.Store.Take(ctx, sandbox)
}

// Start starts a sandbox.
func (u *Underway) Start(ctx context.Context, id string) (session.ID, error) {
	defer u.begin("the start of a sandbox from " + id)()
	return u.Store.Start(ctx, id)
}

// begin records an action until end is called.
func (u *Underway) begin(action string) (end func()) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.actions == nil {
		u.actions = map[string]int{}
	}
	u.actions[action]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.actions[action]--; u.actions[action] == 0 {
			delete(u.actions, action)
		}
	}
}

// Actions describes the actions that have not ended.
func (u *Underway) Actions() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Sorted(maps.Keys(u.actions))
}
