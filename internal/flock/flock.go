// Package flock locks files against other processes, and against others in this one
// (flock(2)). The kernel ends a lock when its process dies, however it dies. The
// package never deletes the files, and a lock affects only processes that request it.
package flock

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Mode is how a lock is shared. The zero value is with nobody.
type Mode int

// The modes.
const (
	Exclusive Mode = iota // no other process has any lock
	Shared                // others may have shared ones
)

// ErrHeld reports that another process holds a conflicting lock.
var ErrHeld = errors.New("it is locked by another process")

// Lock is a lock that is held until Close. It is not safe for concurrent use.
type Lock struct{ file *os.File }

// Try takes the lock on the file at path, which it makes when there is none, or fails
// at once with ErrHeld. It follows no symlink.
func Try(path string, mode Mode) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Lock{file}
	if err := l.Change(mode); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// pause is how long Wait waits before it tries again.
const pause = 20 * time.Millisecond

// Wait is Try, but waits until the lock is free or ctx ends; the error is
// that of ctx then.
func Wait(ctx context.Context, path string, mode Mode) (*Lock, error) {
	for {
		l, err := Try(path, mode)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Change makes it a lock of another mode, or fails at once with ErrHeld. After an
// error it may be lost.
func (l *Lock) Change(mode Mode) error {
	how := unix.LOCK_EX
	if mode == Shared {
		how = unix.LOCK_SH
	}
	err := unix.Flock(int(l.file.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrHeld
	}
	return err
}

// File returns the locked file. It belongs to the lock.
func (l *Lock) File() *os.File { return l.file }

// Close ends the lock. Closing the file alone would not at once: a process that is
// just being started elsewhere in this one has it open until it runs its program.
func (l *Lock) Close() error {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN)
	return l.file.Close()
}
