package flock

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestExclusiveLocksExcludeAllOthers(t *testing.T) {
	for _, c := range []struct {
		first, second Mode
		held          bool
	}{{Exclusive, Exclusive, true}, {Exclusive, Shared, true}, {Shared, Exclusive, true}, {Shared, Shared, false}} {
		path := filepath.Join(t.TempDir(), "lock")
		first, err := Try(path, c.first)
		must(t, err)
		second, err := Try(path, c.second)
		if errors.Is(err, ErrHeld) != c.held {
			t.Errorf("%v beside %v: %v", c.second, c.first, err)
		}
		if !c.held {
			must(t, second.Close())
		}
		must(t, first.Close())
		after, err := Try(path, c.second)
		must(t, err)
		must(t, after.Close())
	}
}

func TestSharedLockBecomesExclusiveWhenUncontended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	one, err := Try(path, Shared)
	must(t, err)
	other, err := Try(path, Shared)
	must(t, err)
	if err := one.Change(Exclusive); !errors.Is(err, ErrHeld) {
		t.Errorf("an exclusive one beside a shared one: %v", err)
	}
	must(t, other.Close())
	must(t, one.Change(Exclusive))
	must(t, one.Close())
}

func TestWaitEndsWithTheLockOrTheContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path, Exclusive)
	must(t, err)
	hurried, cancel := context.WithTimeout(t.Context(), 2*pause)
	defer cancel()
	if _, err := Wait(hurried, path, Shared); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting in vain: %v", err)
	}
	time.AfterFunc(pause, func() { _ = first.Close() })
	second, err := Wait(t.Context(), path, Shared)
	must(t, err)
	must(t, second.Close())
}

// TestLockIsReleasedWhileAProcessIsStarting has the file open twice, as between the fork
// and the exec of another process.
func TestLockIsReleasedWhileAProcessIsStarting(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first, err := Try(path, Exclusive)
	must(t, err)
	forked, err := unix.FcntlInt(first.File().Fd(), unix.F_DUPFD_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(forked)
	must(t, first.Close())
	if _, err := Try(path, Exclusive); err != nil {
		t.Errorf("a lock that was let go of is still there: %v", err)
	}
}

func TestTheLockOfAFolderStaysWithIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "folder")
	if _, err := WaitFolder(t.Context(), path, Shared); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
	must(t, os.Mkdir(path, 0o700))
	first, err := TryFolder(path, Exclusive)
	must(t, err)
	if _, err := TryFolder(path, Shared); !errors.Is(err, ErrHeld) {
		t.Errorf("a second lock: %v", err)
	}
	must(t, os.Rename(path, path+"-moved"))
	must(t, os.Mkdir(path, 0o700))
	other, err := TryFolder(path, Exclusive)
	must(t, err)
	if _, err := TryFolder(path+"-moved", Shared); !errors.Is(err, ErrHeld) {
		t.Errorf("a second lock of the folder that was moved: %v", err)
	}
	must(t, errors.Join(first.Close(), other.Close()))
}

func TestSymlinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "lock")))
	if _, err := Try(filepath.Join(dir, "lock"), Exclusive); !errors.Is(err, unix.ELOOP) {
		t.Errorf("it says %v", err)
	}
}
