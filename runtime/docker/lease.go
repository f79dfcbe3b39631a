package docker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"aibox/internal/flock"
)

var errLeased = errors.New("the network is leased")

// lease is a locked file. The kernel releases the lock when its process ends.
type lease struct{ lock *flock.Lock }

// lease locks the file of a bridge, or fails at once if it is locked.
func (n *Networks) lease(bridge string) (*lease, error) {
	path := filepath.Join(n.dir, bridge+".lease")
	for {
		lock, err := flock.Try(path, flock.Exclusive)
		if errors.Is(err, flock.ErrHeld) {
			return nil, errLeased
		}
		if err != nil {
			return nil, err
		}
		if sameFile(lock.File(), path) {
			return &lease{lock}, nil
		}
		_ = lock.Close() // it was removed between opening and locking: try again
	}
}

func sameFile(f *os.File, path string) bool {
	a, errA := f.Stat()
	b, errB := os.Lstat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// write records the holder for List. Only the lock matters.
func (l *lease) write(session string) error {
	if err := l.lock.File().Truncate(0); err != nil {
		return err
	}
	_, err := l.lock.File().WriteAt([]byte(session), 0)
	return err
}

// release releases the lock.
func (l *lease) release() { _ = l.lock.Close() }

// remove deletes the file while it is locked.
func (l *lease) remove() { _ = os.Remove(l.lock.File().Name()) }

// holder returns the session that leases the bridge, "" when it is free.
func (n *Networks) holder(bridge string) string {
	held, err := n.lease(bridge)
	if err == nil {
		held.release()
		return ""
	}
	data, err := os.ReadFile(filepath.Join(n.dir, bridge+".lease"))
	if err != nil || len(data) == 0 {
		return "?"
	}
	return string(data[:min(len(data), 100)])
}

// lockPool keeps two processes from choosing the same subnet. It waits, since
// creating a network takes a fifth of a second.
func (n *Networks) lockPool(ctx context.Context) (*lease, error) {
	for {
		held, err := n.lease("pool")
		if err == nil || !errors.Is(err, errLeased) {
			return held, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}
