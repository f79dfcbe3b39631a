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
		p := m.sits(size, aibox, "review", id)
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
