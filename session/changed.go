package session

import (
	"context"
	"fmt"

	"github.com/fsnotify/fsnotify"

	"aibox/internal/paths"
)

// Changed says, until ctx ends, that some session was made, removed or got another
// state. Changes that come faster than they are taken are one. The channel is closed
// at the end. The kernel notifies, nothing is polled: every new state touches the folder
// of all sessions.
func (s *reader) Changed(ctx context.Context) (<-chan struct{}, error) {
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
					notify(changed)
				}
			case _, ok := <-watcher.Errors: // some were lost
				if !ok {
					return
				}
				notify(changed)
			}
		}
	}()
	return changed, nil
}

// notify wakes the owner of a channel of length one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
