package command

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestProgramGetsUnchangedArgumentsAndOnlyTheGivenEnvironment(t *testing.T) {
	t.Setenv("AIBOX_CANARY", "leaked")
	out, err := Cmd{Name: "sh", Args: []string{"-c", `printf '%s|' "$@"; env`, "sh", "a b", "$HOME", ";id"}}.Output(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if text := string(out); !strings.HasPrefix(text, "a b|$HOME|;id|") || strings.Contains(text, "leaked") {
		t.Fatalf("got %q", text)
	}
}

func TestErrorHasExitCodeAndEndOfStderr(t *testing.T) {
	err := Cmd{Name: "sh", Args: []string{"-c", "yes x | head -c 10000 >&2; echo the end >&2; exit 7"}}.Run(t.Context())
	failure, ok := errors.AsType[*Error](err)
	if !ok || failure.Code != 7 || !strings.HasSuffix(failure.Stderr, "the end\n") || len(failure.Stderr) > stderrLimit {
		t.Fatalf("got %v", err)
	}
}

func TestCanceledProgramEndsWithTheContextsError(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := (Cmd{Name: "sleep", Args: []string{"60"}}).Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}

func TestCanceledProgramCanRemoveItsFilesAndOneThatIgnoresTheSignalIsKilled(t *testing.T) {
	for script, left := range map[string]bool{
		`trap 'rm lock; exit' TERM; : >lock; echo; while :; do sleep 0.01; done`: false,
		`trap '' TERM; : >lock; echo; while :; do sleep 0.01; done`:              true,
	} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancel(t.Context())
		err := Cmd{Name: "sh", Args: []string{"-c", script}, Dir: dir, Stdout: writerFunc(func(p []byte) (int, error) {
			cancel()
			return len(p), nil
		})}.Run(ctx)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", script, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "lock")); (err == nil) != left {
			t.Errorf("%s: the file is left: %v", script, err == nil)
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestMissingProgramIsAnError(t *testing.T) {
	err := Cmd{Name: "no-such-program-anywhere"}.Run(t.Context())
	if failure, ok := errors.AsType[*Error](err); !ok || failure.Code != -1 {
		t.Fatalf("got %v", err)
	}
}

// A program that dies, for example of a full disk, stops reading its input. Its writer may
// then wait for the program's answer.
func TestProgramThatExitsBeforeItsInputEndsTheRun(t *testing.T) {
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Cmd{Name: "sh", Args: []string{"-c", "exit 7"}, Stdin: read}.Run(t.Context()) }()
	select {
	case err := <-ended:
		if failure, ok := errors.AsType[*Error](err); !ok || failure.Code != 7 {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the run waits for input that nobody takes")
	}
	if _, err := write.Write([]byte("more")); err == nil {
		t.Error("a later writer does not learn that the program has ended")
	}
}

func TestUnreadableInputFailsTheRun(t *testing.T) {
	read, write := io.Pipe()
	broken := errors.New("broken")
	go func() { _, _ = write.Write([]byte("begun")); write.CloseWithError(broken) }()
	if err := (Cmd{Name: "cat", Stdin: read}).Run(t.Context()); !errors.Is(err, broken) {
		t.Fatalf("got %v", err)
	}
}

func TestUnreadInputIsNotAnError(t *testing.T) {
	if err := (Cmd{Name: "true", Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}
