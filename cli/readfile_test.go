package cli

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"aibox/internal/fault"
)

func TestReadingAFileEndsWithTheCommand(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.New(fault.Interrupted, "ctrl-c"))
	a, _, _ := testApp(t)
	for _, writer := range []string{"none", "silent"} {
		if writer == "silent" {
			open, err := os.OpenFile(pipe, os.O_RDWR, 0) // does not wait for a reader
			if err != nil {
				t.Fatal(err)
			}
			defer open.Close()
		}
		if _, err := readFile(ctx, pipe, 100); fault.KindOf(err) != fault.Interrupted {
			t.Errorf("%s: %v", writer, err)
		}
		if _, err := a.readPromptFile(ctx, pipe); fault.KindOf(err) != fault.Interrupted {
			t.Errorf("%s, a prompt: %v", writer, err)
		}
		if err := a.execute(ctx, []string{"netguard", "test", "--file", pipe}); fault.KindOf(err) != fault.Interrupted {
			t.Errorf("%s, cases: %v", writer, err)
		}
	}
}

func TestAFileCanBeAPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("fix it"), 0o600) }()
	a, _, _ := testApp(t)
	if got, err := a.readPromptFile(t.Context(), pipe); got != "fix it" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
}

func TestReadingStandardInputEndsWithTheCommand(t *testing.T) {
	silent, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	defer writer.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(fault.New(fault.Interrupted, "ctrl-c"))
	a, _, _ := testApp(t)
	a.in = silent
	if _, err := a.readPromptFile(ctx, "-"); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("a prompt: %v", err)
	}
	if err := a.execute(ctx, []string{"netguard", "test", "--file", "-"}); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("cases: %v", err)
	}
}
