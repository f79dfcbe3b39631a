package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/internal/screen"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
)

// formRun is a run with --form, in a terminal of its own.
type formRun struct {
	t      *testing.T
	master *os.File
	code   chan int

	request run.Request // the request that the form made, once it has ended

	mu      sync.Mutex
	shown   *screen.Screen
	raw     strings.Builder
	changed chan struct{} // receives a value when the screen has changed since the last look
}

// patience is how long a screen may take on a busy machine. Successful tests do not wait for it.
const patience = time.Minute

// startForm runs aibox on a repository, in a terminal of its own.
func startForm(t *testing.T, args ...string) *formRun {
	t.Helper()
	return startFormIn(t, t.TempDir(), args...)
}

// startFormIn is startForm with a prepared home directory.
func startFormIn(t *testing.T, home string, args ...string) *formRun {
	t.Helper()
	// A list of models that arrives after the end is still stored, also while this is removed.
	cache, err := os.MkdirTemp("", "aibox-form-cache-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(cache) })
	for name, value := range map[string]string{
		"HOME": home, "XDG_CONFIG_HOME": home, "XDG_STATE_HOME": home, "XDG_CACHE_HOME": cache, "XDG_DATA_HOME": home,
		"TERM": "xterm-256color", "COLORTERM": "",
	} {
		t.Setenv(name, value)
	}
	repo := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "main", repo).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	master, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 40, Cols: 120}); err != nil {
		t.Fatal(err)
	}
	f := &formRun{t: t, master: master, code: make(chan int, 1), shown: screen.New(screen.Size{Rows: 40, Cols: 120}), changed: make(chan struct{}, 1)}
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		f.read()
	}()
	line := append(args, "--repo", repo, "--inference", "scripted", "--form")
	go func() { f.code <- f.edit(newCLI(newConsole(tty, tty, tty)), line) }()
	t.Cleanup(func() {
		_ = tty.Close()
		_ = master.Close()
		<-reading
	})
	return f
}

// edit is `aibox run AGENT --form` up to the start of the run. It returns the exit code.
func (f *formRun) edit(a *cli, args []string) int {
	agent, err := a.app.Agents().Find(args[0])
	if err != nil {
		f.t.Error(err)
		return -1
	}
	service, err := a.app.Sessions()
	if err != nil {
		f.t.Error(err)
		return -1
	}
	o, cmd := &runOptions{}, &cobra.Command{SilenceUsage: true, SilenceErrors: true}
	o.bind(a, cmd)
	o.own, o.request.Agent = o.bindOwn(a, cmd, agent), args[0]
	cmd.SetArgs(args[1:])
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := o.read(cmd, args); err != nil {
			return err
		}
		f.request, err = (&invocation{cli: a, service: service, runner: a.runner(service)}).edit(f.t.Context(), o.request)
		return err
	}
	if err := cmd.Execute(); err != nil {
		a.report(err)
		return fault.KindOf(err).ExitCode()
	}
	return 0
}

// read shows what the program writes, and answers its queries to the terminal.
func (f *formRun) read() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := f.master.Read(buffer)
		f.mu.Lock()
		_, _ = f.shown.Write(buffer[:n])
		_, _ = f.raw.Write(buffer[:n])
		answers := f.shown.Answers()
		f.mu.Unlock()
		select {
		case f.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
		if _, err := f.master.Write(answers); err != nil {
			return
		}
	}
}

func (f *formRun) screen() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return string(f.shown.Text(screen.NoColors, false))
}

var styling = regexp.MustCompile("\x1b\\[[0-9;]*m")

// sees waits until the screen contains want.
func (f *formRun) sees(want string) {
	f.t.Helper()
	f.awaits(want, func(text string) string { return text })
}

// awaits waits until the result of read on the screen contains want.
func (f *formRun) awaits(want string, read func(text string) string) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), patience)
	defer cancel()
	for {
		text := styling.ReplaceAllString(f.screen(), "")
		if strings.Contains(read(text), want) {
			return
		}
		select {
		case <-f.changed:
		case <-ctx.Done():
			f.t.Fatalf("no %q on the screen:\n%s", want, text)
		}
	}
}

func (f *formRun) press(keys string) {
	f.t.Helper()
	if _, err := f.master.WriteString(keys); err != nil {
		f.t.Fatal(err)
	}
}

// submits submits the form, which must have the focus.
func (f *formRun) submits() {
	f.t.Helper()
	f.press("\x13") // ctrl+s
	f.sees("[ start ]")
	f.sees("nothing changes until you accept")
	f.press("\r")
	if code := f.ends(); code != 0 {
		f.t.Errorf("ended with %d:\n%s", code, f.screen())
	}
}

// printed waits for a line, even if the terminal wraps it.
func (f *formRun) printed(want string) {
	f.t.Helper()
	f.awaits(strings.ReplaceAll(want, " ", ""), func(text string) string { return strings.Join(strings.Fields(text), "") })
}

// ends waits for the exit code.
func (f *formRun) ends() int {
	f.t.Helper()
	select {
	case code := <-f.code:
		return code
	case <-time.After(patience):
		f.t.Fatalf("it does not end:\n%s", f.screen())
		return 0
	}
}

// index is the row of the choice in the form. If there is no default, the first row means none.
func index(field spec.Field, choice string) int {
	i := slices.Index(field.Choices, choice)
	if field.Default == "" {
		i++
	}
	return i
}

// keysFor returns the keys that set the selected field to a value other than its default and then
// select the next field, and the text that the field then has.
func keysFor(field spec.Field, options any) (keys, text string) {
	const erase, down, home, next = "\x15", "\x1b[B", "\x1b[H", "\t" // ctrl+u
	switch field.Type {
	case spec.Bool:
		if field.Default == "true" {
			return "n" + down, "false"
		}
		return "y" + down, "true"
	case spec.Choice:
		choice := field.Choices[len(field.Choices)-1]
		if choice == field.Default {
			choice = field.Choices[0]
		}
		// Several choices may contain the same letters; the arrow keys select the right one.
		return "\r" + home + strings.Repeat(down, index(field, choice)) + next, choice
	case spec.Choices:
		return "\r " + next, field.Choices[0]
	case spec.Int:
		n := int64(7)
		if field.Min != nil {
			n = *field.Min
		}
		if fmt.Sprint(n) == field.Default {
			n++
		}
		return fmt.Sprint(n) + next, fmt.Sprint(n)
	case spec.Duration:
		return "90s" + next, "1m30s"
	case spec.Secret:
		return "canary" + next, ""
	default:
		// Some fields accept only JSON, which is checked when the form is submitted.
		if text = "val"; field.Set(options, text) != nil || spec.Validate(options) != nil {
			text = `{"v":1}`
		}
		return erase + text + next, text
	}
}
