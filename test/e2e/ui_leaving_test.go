package e2e

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"syscall"
	"testing"
	"time"

	"aibox/test/terminal"
)

func TestEveryScreenRestoresTheTerminalAtItsEnd(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--", "sh", "-c", "echo work > work.txt")
	for name, open := range map[string][2]string{
		"sessions": {"", `▲ to review`},
		"images":   {"2", `Images`},
		"network":  {"3", `Network`},
		"machine":  {"4", `This machine`},
		"settings": {"5", `Settings`},
		"new run":  {"n", `New run`},
		"help":     {"?", `Keys`},
		"palette":  {"ctrl+k", `earch commands`},
		"review":   {"r", `(?s)Review.*work\.txt`},
		"question": {"x", `Discard .*\?`},
	} {
		for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
			t.Run(fmt.Sprintf("%s, %v", name, signal), func(t *testing.T) {
				p := m.opensScreen(t, open[0], open[1])
				if err := p.Process().Signal(signal); err != nil {
					t.Fatal(err)
				}
				p.leaves(130)
			})
		}
		t.Run(name+", its window closed", func(t *testing.T) {
			p := m.opensScreen(t, open[0], open[1])
			if err := p.Hangup(); err != nil {
				t.Fatal(err)
			}
			if _, err := p.Wait(p.ctx); err != nil {
				t.Error(err)
			}
		})
	}
}

// opensScreen starts aibox and goes from the list of sessions to a screen.
func (m *machine) opensScreen(t *testing.T, key, pattern string) *user {
	t.Helper()
	p := m.opensTerminal(usualSize, aibox)
	p.t = t
	p.sees(`▲ to review`)
	if key != "" {
		p.does(key)
		p.sees(pattern)
	}
	return p
}

func TestASignalEndsACommandThatHasTheTerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", nil)
	id := m.detached("shell", "-i", "--network", "none", "--repo", repo)
	t.Run("which takes part in a session", func(t *testing.T) {
		p := m.opensTerminal(usualSize, aibox)
		p.t = t
		p.sees(`running +` + id)
		p.does("enter")
		p.sees(`ctrl-p ctrl-q`)
		if err := p.Process().Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		p.leaves(130)
		if !m.record(id).State.Sandbox.Alive() {
			t.Error("the session ended as well")
		}
	})
	m.aibox(0, "stop", id)
	m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "echo work > work.txt")
	t.Run("which has ended and waits to be read", func(t *testing.T) {
		p := m.opensScreen(t, "d", `(?s)\+work.*enter goes back`)
		if err := p.Process().Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		p.leaves(130)
	})
}

// After kill -9, nothing can restore the terminal, but no work is lost, and the next start
// works on that terminal.
func TestTheNextStartWorksAfterAKill(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "-i", "--network", "none", "--repo", m.repo("p", nil))
	p := m.opensTerminal(usualSize, "sh", "-c", `"$1"; printf '\033[2J\033[Hkil''led\n'; read -r line; "$1"; printf 'ov''er\n'; read -r line`, "sh", aibox)
	p.sees(`running +` + id)
	if err := child(t, p.Process().Pid).Kill(); err != nil {
		t.Fatal(err)
	}
	p.sees(`killed`)
	if len(p.Left()) == 0 {
		t.Error("the kill came too late to be one")
	}
	p.does("ctrl+j") // starts a new line
	p.sees(`running +` + id)
	p.does("enter")
	p.sees(`ctrl-p ctrl-q`)
	p.does("ctrl+p", "ctrl+q")
	p.sees(`running +` + id)
	p.does("q")
	p.sees(`(?m)^ *over`)
	if text := p.Text(); regexp.MustCompile(`running +` + id).MatchString(text) {
		t.Errorf("the screen is left:\n%s", text)
	}
	if left := p.Left(); len(left) > 1 || len(left) == 1 && left[0] != terminal.Keyboard { // the killed program's keyboard mode stays
		t.Errorf("the terminal is left with %q", left)
	}
	if !m.record(id).State.Sandbox.Alive() {
		t.Error("the session ended as well")
	}
	m.aibox(0, "stop", id)
}

// After any number of sizes the screen is the one of a program that was started at the
// last of them.
func TestManyChangesOfTheSizeLeaveTheScreenIntact(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	// Two hours ago, since the screen changes each second while it shows the age in seconds.
	m.aged(m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", m.repo("p", nil), "--json", "--", "sh", "-c", "seq 300 > work.txt; seq 50")).ID, 2*time.Hour)
	random := rand.New(rand.NewPCG(5, 6))
	for name, open := range map[string]func(p *user){
		"sessions": func(p *user) { p.sees(`(?s)▲ to review.*work\.txt`) },
		"help":     func(p *user) { p.does("?"); p.sees(`(?s)Keys.*up`) },
		"review":   func(p *user) { p.does("r"); p.sees(`(?s)Review.*work\.txt.*new file`) },
	} {
		t.Run(name, func(t *testing.T) {
			start := func(size terminal.Size) *user {
				p := m.opensTerminal(size, aibox)
				p.t = t
				p.sees(`▲ to review`)
				open(p)
				return p
			}
			stormy := start(usualSize)
			for range 200 {
				if err := stormy.Resize(terminal.Size{Rows: 1 + random.IntN(70), Cols: 2 + random.IntN(220)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := stormy.Resize(terminal.Size{Rows: 30, Cols: 100}); err != nil {
				t.Fatal(err)
			}
			calm := start(terminal.Size{Rows: 30, Cols: 100})
			calm.settles(stormy)
			for _, p := range []*user{stormy, calm} {
				p.does("ctrl+c")
				p.leaves(0)
			}
		})
	}
}
