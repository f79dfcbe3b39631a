package session

import (
	"context"
	"fmt"

	"github.com/fsnotify/fsnotify"

	"aibox/internal/paths"
	"aibox/internal/wake"
)

// Changed sends on the channel when a session is created, removed or changes state, until
// ctx ends; then it closes the channel. Changes are merged if the caller receives them
// slowly. It does not poll: every new state changes the time of the folder of all sessions,
// which the kernel reports.
func (s *Reader) Changed(ctx context.Context) (<-chan struct{}, error) {
	if err := paths.MakePrivate(s.store.root); err != nil {
		return nil, fmt.Errorf("watching the sessions: %w", err)
	}
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watching the sessions: %w", err)
	}
	if err := watcher.Add(s.store.root); err != nil {
		_ = watcher.Close()
		return nil, fmt.Errorf("watching the sessions: %w", err)
	}
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		defer watcher.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case event, ok := <-watcher.Events:
				if !ok {
					return
				}
				if event.Name == s.store.root || !event.Has(fsnotify.Write) {
					wake.Waiter(changed)
				}
			case _, ok := <-watcher.Errors: // some reports were lost
				if !ok {
					return
				}
				wake.Waiter(changed)
			}
		}
	}()
	return changed, nil
}
