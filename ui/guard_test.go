package ui

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/test/terminal"
	"aibox/ui/page"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// faultyUI in the environment makes this test binary the terminal UI, with a screen on
// top that fails at a key.
const faultyUI = "AIBOX_TEST_FAULTY_UI"

func TestMain(m *testing.M) {
	if os.Getenv(faultyUI) != "" {
		os.Exit(runFaulty())
	}
	code := m.Run()
	if setRoot != "" {
		_ = os.RemoveAll(setRoot)
	}
	os.Exit(code)
}

// latency is the delay of the terminal's answers to queries in these tests: they arrive after the
// keys that end the UI.
const latency = 150 * time.Millisecond

// runFaulty prints how the UI ended, and exits with 3 for a crash.
func runFaulty() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	request := Request{In: os.Stdin, Out: os.Stdout, Sessions: one{}, Environ: os.Environ(), Do: func(ctx context.Context, c page.Command) error {
		if c.Args[0] == "wait" {
			fmt.Println("the command waits")
			<-ctx.Done()
			return nil
		}
		if c.Args[0] == "hold" {
			time.Sleep(2 * latency) // the terminal's answers would arrive meanwhile
			return nil
		}
		panic("in a command that has the terminal")
	}}
	_, err := show(ctx, request, func(a *app) { a.open = append(a.open, &layer{Page: &faulty{}, close: func() {}}) })
	fmt.Printf("ended: %v\n", err)
	time.Sleep(2 * latency) // the terminal is still used, as by a shell
	var crash *Crash
	if errors.As(err, &crash) && strings.Contains(string(crash.Stack), "faulty") {
		return 3
	}
	return 0
}

// faulty is a screen that panics at a key.
type faulty struct {
	page.Page
	broken   bool
	returned string
}

const evil = "a \x1b]0;owned\x07 title"

func (f *faulty) Update(msg tea.Msg) tea.Cmd {
	if back, ok := msg.(page.Returned); ok {
		f.returned = fmt.Sprint(back.Err)
	}
	press, ok := msg.(tea.KeyPressMsg)
	if !ok {
		return nil
	}
	fails := func() tea.Msg { panic(evil) }
	switch press.String() {
	case "u":
		panic(evil)
	case "v":
		f.broken = true
	case "c":
		return fails
	case "b":
		return tea.Batch(fails, func() tea.Msg { return nil })
	case "n":
		return func() tea.Msg { return tea.BatchMsg{func() tea.Msg { return tea.BatchMsg{fails} }} }
	case "s":
		return tea.Sequence(fails)
	case "x":
		return page.Ask(page.Command{Args: []string{"x"}})
	case "e":
		return page.Ask(page.Exec{
			Do:   func() error { panic("in an editor that has the terminal") },
			Done: func(err error) tea.Msg { return page.Returned{Err: err} },
		})
	case "w":
		return page.Ask(page.Command{Args: []string{"wait"}})
	case "h":
		return page.Ask(page.Command{Args: []string{"hold"}})
	case "q":
		return tea.Quit
	}
	return nil
}

func (f *faulty) View() string {
	if f.broken {
		panic(evil)
	}
	return "a screen that works\nreturned: " + f.returned
}

func (*faulty) SetSize(int, int)      {}
func (*faulty) SetTheme(theme.Theme)  {}
func (*faulty) Keys() []keymap.Group  { return nil }
func (*faulty) Short() []key.Binding  { return nil }
func (*faulty) Typing() bool          { return false }
func (f *faulty) Init() (cmd tea.Cmd) { return nil }

// faultyTerminal is a terminal that shows the faulty screen. The words before, if any,
// start it.
func faultyTerminal(t *testing.T, before ...string) (*terminal.Terminal, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	words := append(before, os.Args[0])
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), faultyUI+"=1", "TERM=xterm-256color")
	on, err := terminal.StartOn(cmd, terminal.Model{Size: terminal.Size{Rows: 24, Cols: 80}, Latency: latency})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = on.Close() })
	if err := on.Await(ctx, "a screen that works"); err != nil {
		t.Fatal(err)
	}
	return on, ctx
}

// ends checks that the program ends with this code, that it restores the terminal, and that it
// prints what pattern matches.
func ends(ctx context.Context, t *testing.T, on *terminal.Terminal, code int, pattern string) {
	t.Helper()
	if got, err := on.Wait(ctx); err != nil || got != code {
		t.Errorf("it ends with %d, %v:\n%s", got, err, on.Text())
	}
	if err := on.Await(ctx, pattern); err != nil {
		t.Error(err)
	}
	if left := on.Left(); len(left) > 0 {
		t.Errorf("the terminal is left with %q", left)
	}
	if text := on.Text(); strings.Contains(text, "a screen that works") {
		t.Errorf("the screen is left:\n%s", text)
	}
	if text := on.Text(); strings.Contains(text, "rgb:") {
		t.Errorf("an answer of the terminal reached the shell:\n%s", text)
	}
	if titles := on.Titles(); slices.Contains(titles, "owned") {
		t.Errorf("the terminal's titles were %q", titles)
	}
}

func TestAPanicGivesTheTerminalBack(t *testing.T) {
	for where, key := range map[string]string{
		"in Update": "u", "in View": "v", "in a command": "c", "in one of several commands": "b", "deep in commands": "n",
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			on, ctx := faultyTerminal(t)
			if err := on.Press(key); err != nil {
				t.Fatal(err)
			}
			ends(ctx, t, on, 3, `ended: the terminal UI failed: a .*owned.* title`)
			if text := on.Text(); strings.Contains(text, "goroutine") {
				t.Errorf("the user sees the stack:\n%s", text)
			}
		})
	}
}

func TestAPanicOfACommandThatHasTheTerminalIsItsError(t *testing.T) {
	t.Parallel()
	on, ctx := faultyTerminal(t)
	for _, step := range [][2]string{{"x", `returned: .*in a command that has the terminal`}, {"e", `returned: .*in an editor that has the terminal`}, {"q", `ended: <nil>`}} {
		if err := on.Press(step[0]); err != nil {
			t.Fatal(err)
		}
		if err := on.Await(ctx, step[1]); err != nil {
			t.Error(err)
		}
	}
	ends(ctx, t, on, 0, `ended: <nil>`)
}

func TestATerminalThatGoesAwayEndsTheUIEvenWithoutASignal(t *testing.T) {
	t.Parallel()
	on, ctx := faultyTerminal(t, "sh", "-c", `trap "" HUP; "$0"; true`)
	if err := on.Hangup(); err != nil {
		t.Fatal(err)
	}
	if _, err := on.Wait(ctx); err != nil { // of the shell, which waits for the UI
		t.Error(err)
	}
}

func TestAPanicInASequenceGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	on, ctx := faultyTerminal(t)
	if err := on.Press("s"); err != nil {
		t.Fatal(err)
	}
	if _, err := on.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	if left := on.Left(); len(left) > 0 {
		t.Errorf("the terminal is left with %q", left)
	}
}

func TestEveryWayOutGivesTheTerminalBack(t *testing.T) {
	for name, leave := range map[string]func(on *terminal.Terminal) error{
		"q":       func(on *terminal.Terminal) error { return on.Press("q") },
		"ctrl-c":  func(on *terminal.Terminal) error { return on.Press("ctrl+c") },
		"SIGTERM": func(on *terminal.Terminal) error { return on.Process().Signal(syscall.SIGTERM) },
		"SIGHUP":  func(on *terminal.Terminal) error { return on.Process().Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			on, ctx := faultyTerminal(t)
			if err := leave(on); err != nil {
				t.Fatal(err)
			}
			ends(ctx, t, on, 0, `ended: `)
		})
	}
}

func TestNoAnswerOfTheTerminalReachesACommandThatHasIt(t *testing.T) {
	t.Parallel()
	on, ctx := faultyTerminal(t)
	for _, step := range [][2]string{{"h", `returned: <nil>`}, {"q", `ended: <nil>`}} {
		if err := on.Press(step[0]); err != nil {
			t.Fatal(err)
		}
		if err := on.Await(ctx, step[1]); err != nil {
			t.Error(err)
		}
	}
	ends(ctx, t, on, 0, `ended: <nil>`)
}

func TestASignalWhileACommandHasTheTerminalGivesItBack(t *testing.T) {
	t.Parallel()
	on, ctx := faultyTerminal(t)
	if err := on.Press("w"); err != nil {
		t.Fatal(err)
	}
	if err := on.Await(ctx, "the command waits"); err != nil {
		t.Fatal(err)
	}
	if err := on.Process().Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ends(ctx, t, on, 0, `ended: context canceled`)
}

func TestAWindowThatIsClosedEndsTheProgram(t *testing.T) {
	t.Parallel()
	on, ctx := faultyTerminal(t)
	if err := on.Hangup(); err != nil {
		t.Fatal(err)
	}
	if _, err := on.Wait(ctx); err != nil {
		t.Error(err)
	}
}
