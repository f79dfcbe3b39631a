package session

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"aibox/internal/diskerr"
	"aibox/internal/flock"
)

// LockFile is locked (flock) by the supervisor while it lives, and by a command while it
// changes an ended session. The kernel releases the lock when the process dies, so a free
// lock proves that no process uses the session.
const LockFile = "lock"

// ErrLocked reports that another process holds the lock of a session.
var ErrLocked = errors.New("the session is in use by another process")

// LaunchTimeout is how long a session's folder may have no spec before it counts as the
// remains of a crash.
const LaunchTimeout = 10 * time.Second

// lock takes the lock of the session folder dir. IsLocked holds the lock for an instant, so
// lock retries for a short time.
func lock(dir string) (*flock.Lock, error) {
	for range 20 {
		held, err := flock.Try(filepath.Join(dir, LockFile), flock.Exclusive)
		if !errors.Is(err, flock.ErrHeld) {
			return held, diskerr.Explain(err, dir)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, ErrLocked
}

// IsLocked reports whether a process holds the lock of the session folder dir.
func IsLocked(dir string) bool {
	look, err := flock.Try(filepath.Join(dir, LockFile), flock.Shared)
	if err != nil {
		return errors.Is(err, flock.ErrHeld)
	}
	_ = look.Close()
	return false
}

// AwaitFree waits until no process holds the session.
func AwaitFree(ctx context.Context, dir string) error {
	return AwaitFreeUnless(ctx, dir, func() bool { return false })
}

// AwaitFreeUnless is like AwaitFree, but ends as soon as enough returns true. It polls, because the
// kernel does not report the release of a lock.
func AwaitFreeUnless(ctx context.Context, dir string, enough func() bool) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for IsLocked(dir) && !enough() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
