package e2e

import (
	"strings"
	"testing"

	"aibox/test/terminal"
)

// TestTheReviewShowsEveryKindOfChangeInATerminal looks at long lines, changed words and
// blanks, modes, links and file names in a review on a real terminal of both sizes.
func TestTheReviewShowsEveryKindOfChangeInATerminal(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	words := strings.Repeat("word ", 60)
	repo := m.repo("shop", map[string]string{"blanks.txt": "one  \n\ttwo\n", "cart.go": "sum := one + two\n", "long.txt": words + "end\n"})
	id := m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
		`printf 'one\n    two\n' > blanks.txt; echo 'sum := three + four' > cart.go; sed -i 's/end/finish/' long.txt; ln -s cart.go link`)).ID
	for _, size := range []terminal.Size{{Rows: 24, Cols: 80}, {Rows: 40, Cols: 120}} {
		p := m.opensTerminal(size, aibox, "review", id)
		p.sees(`file 1/4, hunk 1/1`)
		p.sees(`-one··`)
		p.sees(`-→   two`)
		p.sees(`\+····two`)
		p.does("tab")
		p.sees(`file 2/4`)
		p.sees(`\+sum := three \+ four`)
		p.does("tab")
		p.sees(`new symbolic link to cart\.go`)
		p.does("tab")
		p.sees(`(?s)↳.*finish`)
		p.does("W")
		p.sees(`…\+\d+`)
		p.sees(`long lines cut \(W\)`)
		p.does("W", "/")
		p.sees(`search all files`)
		if err := p.Type("cart"); err != nil {
			t.Fatal(err)
		}
		p.does("enter")
		p.sees(`cart: \d of 2 in all files \(1 file name\)`)
		p.does("esc")
		p.sees(`enter accept…`)
		p.does("q")
		if code, err := p.Wait(p.ctx); code != 0 || err != nil {
			t.Errorf("the review ends with %d, %v", code, err)
		}
	}
}

// TestLinesTakenOntoTheWorkingTreeShowOnEveryScreen takes lines of a file in a review on a
// real terminal, then the rest. Every screen and `aibox ls` show the state after each.
func TestLinesTakenOntoTheWorkingTreeShowOnEveryScreen(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("shop", map[string]string{"a.txt": "one\ntwo\nthree\n"})
	m.ended(m.aibox(0, "run", "shell", "--network", "none", "--repo", repo, "--json", "--", "sh", "-c",
		`printf 'ONE\ntwo\nthree\nfour\n' > a.txt; echo new > b.txt`))
	states := func(status, review string) {
		t.Helper()
		if o := m.aibox(0, "ls"); !strings.Contains(o.stdout, status) {
			t.Errorf("aibox ls lacks %q:\n%s", status, o.stdout)
		}
		if o := m.aibox(0, "ls", "--json"); !strings.Contains(strings.ReplaceAll(o.stdout, " ", ""), `"review":"`+review+`"`) {
			t.Errorf("aibox ls --json lacks %q:\n%s", review, o.stdout)
		}
	}
	p := m.opensTerminal(usualSize, aibox)
	p.sees(`▲ to review`)
	p.does("r")
	p.sees(`(?s)Review.*\+ONE`)
	p.does("L")
	p.sees(`space takes a line`)
	p.does("v", "down", "space")
	p.sees(`✓ 2 of 3 lines`)
	p.does("esc")
	p.sees(`enter accept…`)
	p.does("enter")
	p.sees(`Accept into branch`)
	p.until(`Accept into your working tree`, "ctrl+t")
	p.until(`(?s)1 session.*◐ part taken`, "ctrl+s") // the review has closed, and the dashboard shows it
	if got := m.read(repo, "a.txt"); got != "ONE\ntwo\nthree\n" {
		t.Errorf("a.txt holds %q", got)
	}
	states("part taken", "partly-accepted")
	p.does("enter")
	p.sees(`(?s)◐ part taken.*Network and events`)
	p.does("r")
	p.sees(`(?s)Review.*\+four`)
	p.does("A", "enter")
	p.sees(`Accept into your working tree`) // the target is remembered
	p.until(`✓ accepted`, "ctrl+s")         // on the session's screen
	if got := m.read(repo, "a.txt") + m.read(repo, "b.txt"); got != "ONE\ntwo\nthree\nfour\nnew\n" {
		t.Errorf("the files hold %q", got)
	}
	p.does("r")
	p.sees(`(?s)Review.*accepted before`)
	p.until(`(?s)1 session.*✓ accepted`, "q")
	states("accepted", "accepted")
	p.does("q")
	p.leaves(0)
}
