package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aibox/workspace"

	"golang.org/x/sys/unix"
)

func TestWritersWaitWhileARepositoryIsCleanedUp(t *testing.T) {
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
