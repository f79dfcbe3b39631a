package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// holdFile, in the aibox folder of a repository that aibox owns, is locked shared
// (flock) by whoever writes objects there before a ref names them, and exclusively
// while what no ref names is thrown away.
const holdFile = "use.lock"

// Hold keeps what is written to the repository at gitDir from being thrown away
// until release is called. It waits while the repository is being tidied. Holds may
// be nested.
func Hold(ctx context.Context, gitDir string) (release func(), err error) {
	file, err := openHold(gitDir)
	if err != nil {
		return nil, err
	}
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_SH|unix.LOCK_NB)
		if err == nil {
			return func() { letGo(file) }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(err, file.Close())
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		}
	}
}

// seize keeps everybody from writing to the repository at gitDir. It waits for
// nobody.
func seize(gitDir string) (release func(), err error) {
	file, err := openHold(gitDir)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrBusy
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { letGo(file) }, nil
}

func openHold(gitDir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(gitDir, "aibox", holdFile), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
}

// letGo ends a lock. Closing the file alone would not at once: a process that is just
// being started elsewhere in this one has it open until it runs its program.
func letGo(file *os.File) {
	_ = unix.Flock(int(file.Fd()), unix.LOCK_UN)
	_ = file.Close()
}
