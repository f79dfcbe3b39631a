package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"aibox/workspace"

	"golang.org/x/sys/unix"
)

func TestWhoWritesToARepositoryWaitsWhileItIsTidied(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "aibox"), 0o700))
	first, err := workspace.Hold(t.Context(), dir)
	must(t, err)
	second, err := workspace.Hold(t.Context(), dir)
	must(t, err)
	second()
	tidier, err := os.OpenFile(filepath.Join(dir, "aibox", "use.lock"), os.O_RDWR, 0)
	must(t, err)
	defer tidier.Close()
	if err := unix.Flock(int(tidier.Fd()), unix.LOCK_EX|unix.LOCK_NB); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Fatalf("a repository that is held can be tidied: %v", err)
	}
	first()
	must(t, unix.Flock(int(tidier.Fd()), unix.LOCK_EX|unix.LOCK_NB))
	hurried, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := workspace.Hold(hurried, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a repository that is being tidied can be written to: %v", err)
	}
}

// TestAHoldEndsThoughAProcessIsJustBeingStarted has the lock's file open twice, as it is
// between the fork of some other process and its exec.
func TestAHoldEndsThoughAProcessIsJustBeingStarted(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "aibox"), 0o700))
	release, err := workspace.Hold(t.Context(), dir)
	must(t, err)
	path := filepath.Join(dir, "aibox", "use.lock")
	copies := 0
	names, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, name := range names {
		if target, _ := os.Readlink(name); target != path {
			continue
		}
		fd, err := strconv.Atoi(filepath.Base(name))
		must(t, err)
		forked, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		must(t, err)
		defer unix.Close(forked)
		copies++
		break
	}
	release()
	tidier, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	defer tidier.Close()
	if err := unix.Flock(int(tidier.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil || copies != 1 {
		t.Errorf("a lock that was let go of is still there (%d copies of its file): %v", copies, err)
	}
}
