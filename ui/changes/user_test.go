package changes

import (
	"testing"

	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/changes/diff"
	"aibox/ui/widget/keymap"

	"github.com/charmbracelet/x/ansi"
)

// open opens the review of an agent's work.
func open(t testing.TB) (*user, *recorded) {
	services := &recorded{set: worked(t)}
	return newUser(t, services, 120, 40), services
}

// accept confirms the last question once it can be read.
func (p *user) accept() {
	p.T.Helper()
	p.wait()
	p.Press("ctrl+s")
	if p.m.result != nil {
		p.Press("enter")
	}
}

// stripped returns a line without styles.
func stripped(line string) string { return ansi.Strip(line) }

// goTo shows a file.
func (p *user) goTo(path review.Path) {
	p.T.Helper()
	for range p.m.diff.Files {
		if p.m.diff.File().Change.Path == path {
			return
		}
		p.Press("tab")
	}
	p.T.Fatalf("there is no %s", path)
}

func TestTheHitsOfAnEarlierSearchAreDropped(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	p.Press("/")
	p.Type("evil")
	late := p.m.Update(keymap.Press("enter"))
	p.Press("/")
	p.Type("x")
	p.Press("enter")
	before := p.View()
	p.Run(late)
	if p.View() != before {
		t.Errorf("%s\nwas\n%s", p.View(), before)
	}
}

// loadedFile makes a file with hunks that are loaded.
func loadedFile(c *review.Change, hunks ...review.Hunk) *diff.File {
	d := decision.New([]*review.Change{c}, decision.Options{})
	d.Load(0, hunks)
	f := diff.NewFile(d.File(0))
	f.Sync()
	return f
}
