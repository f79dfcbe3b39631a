package command

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// Programs such as mmdebstrap wait for their child processes at a signal, and then clean up.
func TestCanceledGroupCanCleanUpWithinItsGrace(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	script := `trap : TERM; : >lock; sh -c 'trap "exit 1" TERM; echo; while :; do sleep 0.01; done'; rm lock`
	err := Cmd{Name: "sh", Args: []string{"-c", script}, Dir: dir, Group: true, Grace: time.Minute, Stdout: canceler(cancel)}.Run(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "lock")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its file is left: %v", err)
	}
}

func TestWhatIsLeftOfAGroupAfterItsGraceIsKilled(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	ctx, cancel := context.WithCancel(t.Context())
	script := `sh -c 'trap "" TERM; echo; while :; do sleep 0.01; done' & wait`
	err = Cmd{
		Name: "sh", Args: []string{"-c", script}, Files: []*os.File{write}, Group: true, Grace: 50 * time.Millisecond, Stdout: canceler(cancel),
	}.Run(ctx)
	_ = write.Close()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := read.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(read); err != nil { // it ends when no process has the other end
		t.Errorf("a child process is left: %v", err)
	}
}

// canceler calls cancel when the program writes.
func canceler(cancel func()) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		cancel()
		return len(p), nil
	})
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

// A session's files can be written slowly, for example to a network disk.
func TestOutputThatIsReadSlowlyIsComplete(t *testing.T) {
	const size = 60_000 // all of it is in the kernel's pipe when the program ends
	read, write := io.Pipe()
	go func() {
		cmd := Cmd{Name: "head", Args: []string{"-c", strconv.Itoa(size), "/dev/zero"}, Stdout: write, Group: true, Grace: 100 * time.Millisecond}
		write.CloseWithError(cmd.Run(t.Context()))
	}()
	if _, err := io.ReadFull(read, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	<-time.After(500 * time.Millisecond) // much longer than the grace
	if rest, err := io.ReadAll(read); err != nil || len(rest) != size-1 {
		t.Errorf("got %d bytes, not %d: %v", len(rest), size-1, err)
	}
}

// A program can leave a process in the background that has its output.
func TestTheOutputOfAProcessThatIsLeftIsNotAwaited(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close() // ends the process
	out, in := io.Pipe()
	go func() { _, _ = io.Copy(io.Discard, out) }()
	cmd := Cmd{Name: "sh", Args: []string{"-c", "read line <&3 &"}, Files: []*os.File{read}, Group: true, Grace: 10 * time.Millisecond, Stdout: in}
	if err := cmd.Run(t.Context()); !errors.Is(err, exec.ErrWaitDelay) {
		t.Errorf("got %v", err)
	}
}

func TestAReaderThatStopsEndsTheProgram(t *testing.T) {
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Cmd{Name: "yes", Stdout: write}.Run(t.Context()) }()
	if _, err := io.ReadFull(read, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = read.Close()
	select {
	case err := <-ended:
		if err == nil {
			t.Error("a program whose output was not taken did not fail")
		}
	case <-time.After(time.Minute):
		t.Error("the program still runs")
	}
}

func TestCanceledProgramEndsAlthoughItsOutputIsNotRead(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	read, write := io.Pipe()
	defer read.Close()
	ended := make(chan error, 1)
	go func() { ended <- Cmd{Name: "yes", Stdout: write}.Run(ctx) }()
	if _, err := io.ReadFull(read, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the run waits for its reader")
	}
}

// The user's notify command can start a player in the background.
func TestAProcessThatIsLeftInTheBackgroundIsNoFailure(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close() // ends the process
	cmd := Cmd{Name: "sh", Args: []string{"-c", "read line <&3 &"}, Files: []*os.File{read}, Group: true, Grace: 10 * time.Millisecond}
	if err := cmd.Run(t.Context()); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestUnreadInputIsNotAnError(t *testing.T) {
	if err := (Cmd{Name: "true", Stdin: strings.NewReader(strings.Repeat("x", 1<<20))}).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}
