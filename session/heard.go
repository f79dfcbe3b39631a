package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Heard says that the session's agent said something more, until the session has
// ended or ctx ends; then the channel is closed. What is said faster than it is taken
// is one. Nothing is polled: the session's supervisor tells.
func (s *Sessions) Heard(ctx context.Context, id ID) (<-chan struct{}, error) {
	var from int64
	info, err := os.Stat(filepath.Join(s.store.dir(id), outputFile))
	switch {
	case err == nil:
		from = info.Size()
	case !errors.Is(err, fs.ErrNotExist): // it may be about to be made
		return nil, err
	}
	said := make(chan struct{}, 1)
	go func() {
		defer close(said)
		_, _ = s.Follow(ctx, id, from, func(Chunk) error { // whoever listens sees how it ended
			wake(said)
			return nil
		})
	}()
	return said, nil
}
