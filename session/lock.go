package session

import (
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// lockFile is held (flock) by the supervisor for as long as it lives, and by a
// command while it changes an ended session. The kernel lets it go when the
// process dies, however it dies, so a free lock proves that nobody is there.
const lockFile = "lock"

// errLocked says that another process holds the lock.
var errLocked = errors.New("the session is in use by another process")

// lock takes the lock of the session folder dir. Those who only look (held) keep
// it for an instant, so a taken lock is tried again for a short while.
func lock(dir string) (*os.File, error) {
	for range 20 {
		file, err := flock(dir, unix.LOCK_EX)
		if !errors.Is(err, errLocked) {
			return file, err
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil, errLocked
}

// held reports whether somebody holds the lock of the session folder dir.
func held(dir string) bool {
	file, err := flock(dir, unix.LOCK_SH)
	if err != nil {
		return errors.Is(err, errLocked)
	}
	_ = file.Close()
	return false
}

func flock(dir string, how int) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = errLocked
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
