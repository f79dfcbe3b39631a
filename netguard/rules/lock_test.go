package rules

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// A tool of a job that was killed would otherwise make its change after the checks of the next job.
func TestTheLockOfANamespaceIsHeldUntilTheToolsOfTheJobEnd(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	begun, finish := filepath.Join(t.TempDir(), "begun"), filepath.Join(t.TempDir(), "finish")
	must(t, unix.Mkfifo(begun, 0o600))
	must(t, unix.Mkfifo(finish, 0o600))
	unlock, err := lockNamespace(unix.LOCK_EX)
	must(t, err)
	ended := make(chan error, 1)
	tool := toolChange("a tool", "", "sh", "-c", `echo >"$0"; read line <"$1"`, begun, finish)
	go func() { ended <- tool.apply(context.Background()) }()
	_, err = os.ReadFile(begun) // waits for the tool
	must(t, err)
	unlock() // as the end of the job does

	next, err := os.Open("/proc/self/ns/net")
	must(t, err)
	defer next.Close()
	lock := func() error { return unix.Flock(int(next.Fd()), unix.LOCK_EX|unix.LOCK_NB) }
	if err := lock(); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("while the tool runs, another job gets the lock: %v", err)
	}
	must(t, os.WriteFile(finish, []byte("\n"), 0o600))
	must(t, <-ended)
	if err := lock(); err != nil {
		t.Errorf("after its end: %v", err)
	}
}
