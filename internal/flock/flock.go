// Package flock locks files against other processes, and against others in this one
// (flock(2)). The kernel releases a lock when its process ends for any reason. The package
// never deletes the files, and a lock affects only processes that request it.
package flock

import (
	"context"
	"errors"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Mode says whether a lock is shared. The zero value is Exclusive.
type Mode int

// The modes.
const (
	Exclusive Mode = iota // no other process has any lock
	Shared                // others can have shared locks
)

// ErrHeld reports that another process holds a conflicting lock.
var ErrHeld = errors.New("it is locked by another process")

// Lock is a lock that lasts until Close. It is not safe for concurrent use.
type Lock struct{ file *os.File }

// Try locks the file at path, or fails at once with ErrHeld. It creates a missing file and
// follows no symlink.
func Try(path string, mode Mode) (*Lock, error) {
	return try(path, os.O_CREATE|os.O_RDWR, mode)
}

// TryFolder is like Try for the folder at path, which must exist. The lock is of the folder
// itself, whatever has its path later.
func TryFolder(path string, mode Mode) (*Lock, error) {
	return try(path, os.O_RDONLY|unix.O_DIRECTORY, mode)
}

func try(path string, flags int, mode Mode) (*Lock, error) {
	file, err := os.OpenFile(path, flags|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Lock{file}
	if err := l.Change(mode); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// pause is the time between two attempts of Wait.
const pause = 20 * time.Millisecond

// Wait is like Try, but waits until the lock is free. If ctx ends first, it returns the error
// of ctx.
func Wait(ctx context.Context, path string, mode Mode) (*Lock, error) {
	return wait(ctx, func() (*Lock, error) { return Try(path, mode) })
}

// WaitFolder is Wait for TryFolder. It does not wait for a folder that is gone.
func WaitFolder(ctx context.Context, path string, mode Mode) (*Lock, error) {
	return wait(ctx, func() (*Lock, error) { return TryFolder(path, mode) })
}

func wait(ctx context.Context, try func() (*Lock, error)) (*Lock, error) {
	for {
		l, err := try()
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

// Change changes the mode of the lock, or fails at once with ErrHeld. After an error the lock
// may be lost.
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

// Close releases the lock. Closing the file alone would not release it at once: a child that
// this process has just forked keeps the file open until it executes its program.
func (l *Lock) Close() error {
	_ = unix.Flock(int(l.file.Fd()), unix.LOCK_UN)
	return l.file.Close()
}
