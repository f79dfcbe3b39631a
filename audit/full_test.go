package audit

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// within runs f with a limit on the size of files: the kernel accepts a part of a longer
// write and refuses the rest, as a full disk does.
func within(t *testing.T, bytes int64, f func()) {
	t.Helper()
	var was unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_FSIZE, &was)
	if err == nil {
		err = unix.Setrlimit(unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: uint64(bytes), Max: was.Max})
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &was); err != nil {
			t.Fatal(err)
		}
	}()
	f()
}

// A partial line would precede the next event and break the chain.
func TestShortWriteIsTruncatedFromTheLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.Append(SessionStarted, "first"); err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(path)
	within(t, info.Size()+20, func() {
		if _, err := log.Append(AgentStarted, strings.Repeat("x", 100)); err == nil {
			t.Error("it is logged where there is no room")
		}
	})
	if got := problems(t, path); got != "" {
		t.Error(got)
	}
	if _, err := log.Append(AgentEnded, "last"); err != nil {
		t.Fatal(err)
	}
	var types []Type
	if err := Read(path, func(e Event) error { types = append(types, e.Type); return nil }); err != nil || len(types) != 2 || types[1] != AgentEnded {
		t.Errorf("the log holds %v, %v", types, err)
	}
}

// A cut is only forgotten once it is an event.
func TestACutStaysVisibleIfItsEventFindsNoSpace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, 4)
	lines := bytes.SplitAfter(read(t, path), []byte("\n"))
	write(t, path, bytes.Join(lines[:2], nil))
	within(t, int64(len(lines[0])+len(lines[1])), func() {
		if log, err := Open(path); err == nil {
			_ = log.Close()
			t.Error("a log was opened that has no space for its cut")
		}
	})
	if got := problems(t, path); got != "the log was cut after line 2: 4 lines were written" {
		t.Error(got)
	}
	fill(t, path, 1)
	if got := problems(t, path); got != "line 3 follows a cut: 2 of 4 lines were left" {
		t.Error(got)
	}
}
