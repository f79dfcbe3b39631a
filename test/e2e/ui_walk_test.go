package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/test/terminal"
)

// With -walk.empty the walk uses a Docker daemon of its own, which has no images, so that
// the images are baked on the way. With -walk.bare the machine has no Docker at all, and
// aibox sets it up first, with sudo; test/matrix/walk.sh makes such a machine.
var (
	walkEmpty = flag.Bool("walk.empty", false, "walk with a Docker daemon that has no images")
	walkBare  = flag.Bool("walk.bare", false, "walk on a machine without Docker, and set it up")
)

// longestWalk includes building runsc and baking the base image and an agent's.
const longestWalk = 45 * time.Minute

// A user without sessions, settings and, with the flags, images or Docker comes to a branch
// with an accepted hunk, by keys alone. The log has the time of each step.
func TestAWalkFromAnEmptyMachineToABranchIsTimed(t *testing.T) {
	timed := *walkEmpty || *walkBare
	if !timed {
		t.Parallel()
	}
	m := newMachine(t)
	switch {
	case *walkBare:
		m.env = append(os.Environ(), m.env...) // where Go finds modules, for the setup
		t.Cleanup(m.uninstall)
	case *walkEmpty:
		newDaemon(m)
	}
	repo := m.repo("shop", map[string]string{"README": "a project\n"})
	p := m.opensTerminal(terminal.Size{Rows: 30, Cols: 100}, "sh", "-c", "cd "+repo+" && exec "+aibox)
	if timed {
		ctx, cancel := context.WithTimeout(context.Background(), longestWalk)
		t.Cleanup(cancel)
		p.ctx = ctx
	}
	begun := time.Now()
	step := func(name string, do func()) {
		t.Helper()
		from := time.Now()
		do()
		t.Logf("%-28s %7.1f s", name, time.Since(from).Seconds())
	}
	step("first frame", func() { p.sees(`Steps to your first session`) })
	if *walkBare {
		step("setup of the machine", func() {
			p.sees(`▸ 1 ✗ this machine`)
			p.does("enter")
			p.sees(`Do that\? \[y/N\]`)
			p.does("y", "enter")
			p.sees(`enter goes back`)
			p.does("enter")
		})
	}
	step("check of the machine", func() { p.sees(`1 ✓ this machine`) })
	step("choice of the agent", func() {
		if timed {
			p.sees(`▸ 2 `)
		} else { // an agent's image is there, and the next step is another
			p.sees(`2 ✓ an agent`)
			p.until(`▸ 2 `, "shift+tab")
		}
		p.until(`▸ codex`, "down")
		p.does("enter")
	})
	step("image of the agent", func() { p.sees(`(?s)codex is ready.*▸ 3 .*without a model`) })
	step("choice of no model", func() {
		p.does("end", "enter")
		p.sees(`3 ✓ a model +none`)
		p.sees(`▸ 4 `)
	})
	step("new run", func() {
		p.does("enter")
		p.sees(`(?s)New run.*Write a greeting to hello\.txt`)
		p.does("ctrl+s")
		p.sees(`(?s)\[ start \].*✓ ready`)
	})
	step("work of the agent", func() {
		p.does("enter")
		p.sees(`to review`)
	})
	step("review", func() {
		p.does("r")
		p.sees(`(?s)Review .*\+hello from codex`)
	})
	step("accepted hunk", func() {
		p.does("y")
		p.sees(`1 of 1`)
		p.until(`Accept into branch`, "enter")
		p.until(`accepted on branch`, "ctrl+s")
	})
	step("back in the shell", func() {
		p.until(`1 session`, "q")
		p.does("q")
		p.leaves(0)
	})
	t.Logf("%-28s %7.1f s", "total", time.Since(begun).Seconds())

	branch := strings.Fields(m.git(repo, "for-each-ref", "--format=%(refname:short)", "refs/heads/aibox"))
	if len(branch) != 1 {
		t.Fatalf("the branches are %q", branch)
	}
	if text := m.git(repo, "show", fmt.Sprintf("%s:hello.txt", branch[0])); !strings.Contains(text, "hello from codex") {
		t.Errorf("the branch holds %q", text)
	}
}

// uninstall removes what the setup created, and Docker's images with it.
func (m *machine) uninstall() {
	script, err := filepath.Abs("../../scripts/setup-rootless-gvisor.sh")
	if err != nil {
		m.t.Fatal(err)
	}
	if o := m.exec("bash", script, "--uninstall", "--purge", "--yes"); o.code != 0 {
		m.t.Errorf("the setup is not undone: %s", o)
	}
}
