package cli

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"aibox/internal/fault"

	"github.com/creack/pty"
)

func TestTheEditorIsTheUsersOrACommonOne(t *testing.T) {
	programs := t.TempDir()
	t.Setenv("PATH", programs)
	for _, c := range []struct {
		visual, editor, install string
		want                    []string
	}{
		{"", "", "", nil},
		{"", "", "vi", []string{"vi"}},
		{"", "", "nano", []string{"nano"}}, // before vi
		{"", "ed -s", "", []string{"ed", "-s"}},
		{"code --wait", "ed", "", []string{"code", "--wait"}},
		{"  ", "ed", "", []string{"ed"}},
	} {
		t.Setenv("VISUAL", c.visual)
		t.Setenv("EDITOR", c.editor)
		if c.install != "" {
			if err := os.WriteFile(filepath.Join(programs, c.install), []byte("#!/bin/sh\n"), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if got := editorCommand(); !slices.Equal(got, c.want) {
			t.Errorf("VISUAL=%q EDITOR=%q: %q, want %q", c.visual, c.editor, got, c.want)
		}
	}
}

// A prompt is edited in its file, with the console's editor.
func TestAPromptIsEditedInItsFile(t *testing.T) {
	a, _, _ := testApp(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	err := a.execute(t.Context(), []string{"prompts", "edit", "careful"})
	want := filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "aibox", "prompts", "careful.md")
	if !slices.Contains(fault.Hints(err), "the file is "+want) {
		t.Errorf("without a terminal: %v, %q, want a hint at %s", err, fault.Hints(err), want)
	}
}

// The terminal sends ctrl-c to the editor and to aibox. Only the editor decides what it means.
func TestCtrlCDoesNotEndTheEditor(t *testing.T) {
	c, _ := consoleOnTerminal(t)
	dir := t.TempDir()
	started, ends, file := pipeNamed(t, filepath.Join(dir, "started")), pipeNamed(t, filepath.Join(dir, "ends")), filepath.Join(dir, "text")
	script := filepath.Join(dir, "editor")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\necho >%s\nread -r line <%s\necho kept >\"$1\"\n", started.Name(), ends.Name()), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", script)
	received := make(chan os.Signal, 1)
	signal.Notify(received, os.Interrupt)
	ctx := c.untilSignal(t.Context())
	t.Cleanup(func() { signal.Stop(c.interrupts) })
	edited := make(chan error, 1)
	go func() { edited <- c.edit(ctx, file) }()
	if _, err := started.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	<-received
	signal.Stop(received) // waits until every channel has received it
	if _, err := ends.WriteString("\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-edited; err != nil || ctx.Err() != nil {
		t.Errorf("the editor ended with %v, and the command with %v", err, ctx.Err())
	}
	if data, err := os.ReadFile(file); string(data) != "kept\n" {
		t.Errorf("the text is %q, %v", data, err)
	}
}

func TestAnInterruptedEditorInterruptsItsCommand(t *testing.T) {
	setIgnored(t, os.Interrupt, false)
	c, _ := consoleOnTerminal(t)
	script := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nkill -INT $$\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("VISUAL", script)
	if err := c.edit(t.Context(), "/file"); fault.KindOf(err) != fault.Interrupted {
		t.Errorf("the editor was interrupted, and the command ends with %v", err)
	}
}

// consoleOnTerminal returns a console on a terminal of its own, and the other side of that.
func consoleOnTerminal(t *testing.T) (c *console, user *os.File) {
	t.Helper()
	user, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = tty.Close()
		_ = user.Close()
	})
	return newConsole(tty, tty, tty), user
}

// pipeNamed makes a pipe with a name, opened for both directions so that no side waits for the other.
func pipeNamed(t *testing.T, path string) *os.File {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pipe.Close() })
	return pipe
}
