package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/ui"
)

func TestACrashOfTheUIIsSavedForABugReport(t *testing.T) {
	state := t.TempDir()
	t.Setenv("XDG_STATE_HOME", state)
	err := crashed(&ui.Crash{Value: "index out of range", Stack: []byte("goroutine 1\n")})
	file := filepath.Join(state, "aibox", "crash.txt")
	if hints := strings.Join(fault.Hints(err), "\n"); !strings.Contains(err.Error(), "index out of range") || !strings.Contains(hints, file) {
		t.Errorf("the message is %q, with %q", err, hints)
	}
	if fault.KindOf(err).ExitCode() != 1 {
		t.Errorf("the exit code is %d", fault.KindOf(err).ExitCode())
	}
	kept, failed := os.ReadFile(file)
	if failed != nil || !strings.Contains(string(kept), "index out of range\n\ngoroutine 1\n") {
		t.Errorf("saved is %q, %v", kept, failed)
	}
	if info, failed := os.Stat(file); failed != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), failed)
	}
	t.Setenv("XDG_STATE_HOME", "/proc/nothing")
	if hints := fault.Hints(crashed(&ui.Crash{Value: "x"})); !strings.Contains(strings.Join(hints, "\n"), "could not be saved") {
		t.Errorf("without a folder the hints are %q", hints)
	}
}

func TestOtherErrorsOfTheUIAreReturnedUnchanged(t *testing.T) {
	other := errors.New("other")
	if got := crashed(other); got != other { //nolint:errorlint // the same, not one that wraps it
		t.Error(got)
	}
	if crashed(nil) != nil {
		t.Error("nothing became an error")
	}
}
