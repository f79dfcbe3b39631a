// Package draft removes folders that a process was filling when it died. The process holds
// the lock of a file in the folder, until it renames what is complete.
package draft

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"aibox/internal/flock"
)

// LockFile is the name of the locked file in a draft.
const LockFile = "lock"

// LockTime is how long a new draft may exist without a lock.
const LockTime = time.Minute

// Lock locks a new draft. A draft that nobody has locked is removed after LockTime. The file gets
// its name once it is locked, since a draft with a file that is not locked counts as dead.
func Lock(folder string) (*flock.Lock, error) {
	path := filepath.Join(folder, LockFile)
	lock, err := flock.Try(path+".new", flock.Exclusive)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// RemoveDead removes a draft unless its process lives, or may be about to lock it. made is
// when the folder was last changed. A draft that is gone is no error.
func RemoveDead(folder string, made time.Time) (isAlive bool, err error) {
	path := filepath.Join(folder, LockFile)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) && time.Since(made).Abs() < LockTime {
		return true, nil
	}
	lock, err := flock.Try(path, flock.Exclusive)
	switch {
	case errors.Is(err, flock.ErrHeld):
		return true, nil
	case errors.Is(err, fs.ErrNotExist): // its process has completed or removed it
		return false, nil
	case err != nil:
		return false, err
	}
	return false, errors.Join(os.RemoveAll(folder), lock.Close())
}
