package e2e

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/test/terminal"
)

// How long, and which way: by hand for longer, and again where it failed.
var (
	monkeyTime = flag.Duration("monkey", 8*time.Second, "how long random keys are pressed")
	monkeySeed = flag.Uint64("monkey.seed", uint64(time.Now().UnixNano()), "which random keys")
)

// monkeyKeys are the keys of an ordinary keyboard, without ctrl+d, which ends a shell in a sandbox.
var monkeyKeys = append(strings.Split("abcdefghijklmnopqrstuvwxyzABDEFGHILMNOPRSTUVXY0123456789/?:.,[]{}|@ ", ""),
	"enter", "enter", "enter", "esc", "esc", "esc", "tab", "tab", "shift+tab", "space", "backspace", "delete", "up", "down", "down", "left", "right",
	"home", "end", "pgup", "pgdown", "f1", "ctrl+a", "ctrl+b", "ctrl+e", "ctrl+f", "ctrl+k", "ctrl+n", "ctrl+r", "ctrl+s", "ctrl+t", "ctrl+u", "ctrl+w", "é")

// hasty are keys that a user may type before a question appears. Those of rash also answer
// yes. They are for manual tests, because on a slow machine they can arrive after the grace
// period.
var (
	hasty = [][]string{{"x", "enter"}, {"a", "enter"}, {"X", "enter"}, {"delete", "enter"}, {"s", "enter", "esc"}, {"A", "enter"}, {"space", "x", "enter"}}
	rash  = [][]string{{"x", "y"}, {"x", "tab", "enter"}, {"a", "y"}, {"X", "y"}, {"delete", "y"}, {"s", "y"}, {"A", "enter", "ctrl+s", "ctrl+s"}, {"space", "x", "y"}}

	monkeyRash = flag.Bool("monkey.rash", false, "also type yes ahead of questions")
)

// monkey presses keys at random and answers no question but with no.
type monkey struct {
	*user
	random *rand.Rand
	done   []string // what it did and saw, the last of it
	seen   map[string]int
}

// asks are the words on the screen where an answer would do something.
const asks = `cancel\s\(n\)|\[y/N\]|Accept\sinto`

// step presses keys that fit the current screen.
func (k *monkey) step() {
	rest := 40 * time.Millisecond
	if err := k.Quiet(k.ctx, rest); err != nil {
		k.t.Fatal(err)
	}
	text := k.Text()
	if words := strings.Fields(text); len(words) > 0 {
		k.seen[words[0]]++
	}
	k.note("\n" + text + "\n")
	one := func() string { return monkeyKeys[k.random.IntN(len(monkeyKeys))] }
	switch n := k.random.IntN(100); {
	case matches(`\[y/N\]`, text):
		k.press("n", "enter")
	case matches(asks, text):
		k.press("esc")
	case matches(`enter goes back`, text):
		k.press("enter")
	case matches(`(Run which command in|Copy what (out of|into)) the sandbox\?`, text): // a user who types there wants it
		k.press("esc")
	case matches(`ctrl-p ctrl-q`, text):
		k.press(one(), "ctrl+p", "ctrl+q")
	case matches(`(?m)\A ?Images`, text): // it would bake for minutes
		k.press([]string{"down", "/", "esc", "esc", "1", "?"}[k.random.IntN(6)])
	case n < 70:
		k.press(one())
	case n < 78:
		if *monkeyRash {
			k.press(rash[k.random.IntN(len(rash))]...)
		}
		k.press(hasty[k.random.IntN(len(hasty))]...)
	case n < 82:
		k.press([]string{"tab", "down", "esc"}[k.random.IntN(3)], one())
	case n < 90:
		k.send("mouse", terminal.Mouse([]terminal.Button{terminal.Left, terminal.Left, terminal.Right, terminal.WheelUp, terminal.WheelDown}[k.random.IntN(5)],
			k.random.IntN(k.Size().Cols), k.random.IntN(k.Size().Rows)))
	case n < 92:
		k.send("paste", terminal.Paste("pasted \x1b[31mtext\r\nof two lines"))
	default:
		size := terminal.Size{Rows: 5 + k.random.IntN(60), Cols: 20 + k.random.IntN(180)}
		if n > 95 {
			size = usualSize
		}
		k.note(fmt.Sprint(size))
		if err := k.Resize(size); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *monkey) press(names ...string) {
	k.note(strings.Join(names, " "))
	_ = k.Press(names...) // it may just have quit
}

func (k *monkey) send(what, bytes string) {
	k.note(what)
	_ = k.Type(bytes)
}

func (k *monkey) note(what string) {
	k.done = append(k.done[max(0, len(k.done)-80):], what)
}

// facts are what no key may change without its question: what became of the sessions
// and of the user's repositories.
func (m *machine) facts(ids []string, repos ...string) string {
	var all strings.Builder
	for _, id := range ids {
		r := m.record(id)
		work, _ := os.ReadFile(filepath.Join(r.State.Workspace.Path, "work.txt"))
		fmt.Fprintf(&all, "%s phase %s, review %q, branch %q, %d bytes of work\n", id, r.State.Phase, r.State.Review, r.State.Branch, len(work))
		if result := r.State.Result; result != nil {
			fmt.Fprintf(&all, "exit code %d, fault %v\n", result.ExitCode, result.Fault)
		}
	}
	for _, repo := range repos {
		for _, ref := range append(glob(m.t, filepath.Join(repo, ".git/refs/heads/*")), glob(m.t, filepath.Join(repo, ".git/refs/heads/aibox/*"))...) {
			commit, _ := os.ReadFile(ref)
			fmt.Fprintf(&all, "%s %s", ref, commit)
		}
		index, _ := os.ReadFile(filepath.Join(repo, ".git/index"))
		fmt.Fprintf(&all, "%s at %s, index %x\n", repo, m.read(repo, ".git/HEAD"), sha256.Sum256(index))
	}
	return all.String()
}

func TestRandomKeysDoNothingWithoutItsQuestion(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	m.env = append(m.env, "VISUAL=true", "EDITOR=true", "PAGER=cat", "SHELL=true")
	repo := m.repo("p", map[string]string{"README": "a project\n", "Makefile": "all:\n"})
	work := []string{"run", "shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "seq 300 > work.txt; echo evil >> Makefile; seq 100"}
	for range 2 {
		m.aibox(0, work...)
	}
	m.aibox(0, "accept", m.stored()[0].ID, "--branch", "taken")
	m.detached("shell", "--network", "none", "--repo", repo, "--", "sh", "-c", "echo busy; sleep 1000")
	m.detached("shell", "-i", "--network", "none", "--repo", repo, "--", "sh", "-c", "trap '' INT QUIT TSTP; while :; do read -r line; done")
	var ids []string
	for _, r := range m.stored() {
		ids = append(ids, r.ID)
	}
	before := m.facts(ids, repo)
	k := &monkey{seen: map[string]int{}, random: rand.New(rand.NewPCG(*monkeySeed, 1))}
	t.Cleanup(func() {
		if t.Failed() {
			crash, _ := os.ReadFile(filepath.Join(m.home, ".local/state/aibox/crash.txt"))
			t.Logf("the crash report, if any:\n%s", crash)
			t.Logf("again: -monkey.seed %d; the last it did and saw:\n%s", *monkeySeed, strings.Join(k.done, "\n"))
		}
	})
	starts := 0
	for over := time.Now().Add(*monkeyTime); time.Now().Before(over); {
		k.user = m.opensTerminal(usualSize, aibox)
		ctx, cancel := context.WithTimeout(context.Background(), *monkeyTime+time.Minute)
		t.Cleanup(cancel)
		k.ctx, starts = ctx, starts+1
		k.sees(`aibox`)
		for time.Now().Before(over) && !k.over() {
			k.step()
			if now := m.facts(ids, repo); now != before {
				_ = k.Quiet(k.ctx, patience)
				t.Fatalf("without a question this became\n%sof\n%s\n%s", now, before, k.Text())
			}
		}
		k.away()
		k.leaves(0)
	}
	for _, r := range m.stored() {
		if r.State.Phase != "ended" {
			m.aibox(0, "stop", r.ID)
		}
	}
	t.Logf("%d starts; steps by screen: %v", starts, k.seen)
}

// over reports whether the program has ended.
func (k *monkey) over() bool {
	select {
	case <-k.Ended():
		return true
	default:
		return false
	}
}

// away leaves the program from wherever it is.
func (k *monkey) away() {
	ways := [][]string{{"ctrl+p", "ctrl+q"}, {"n", "enter"}, {"esc"}, {"ctrl+c"}, {"ctrl+c", "ctrl+c"}} // the last one: in a terminal that is too small
	for i := 0; !k.over(); i++ {
		if k.ctx.Err() != nil {
			k.t.Fatalf("there is no way out of\n%s", k.Text())
		}
		text, press := k.Text(), ways[i%len(ways)]
		switch {
		case matches(`(leave|quit) \(y\)`, text): // about a task that would be lost
			press = []string{"y"}
		case i%len(ways) == 1 && !matches(asks, text) && !matches(`enter goes back`, text):
			continue
		}
		_ = k.Press(press...)
		ctx, cancel := context.WithTimeout(k.ctx, patience)
		_, _ = k.Wait(ctx)
		cancel()
	}
}

func TestTheRandomKeysAreKnown(t *testing.T) {
	t.Parallel()
	for _, keys := range slices.Concat(hasty, rash, [][]string{monkeyKeys}) {
		for _, name := range keys {
			if sent := terminal.Key(name); len(name) > 2 && sent == name {
				t.Errorf("there is no key %q", name)
			}
		}
	}
}
