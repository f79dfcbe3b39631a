package form

import (
	"fmt"
	"strings"
	"testing"

	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestAListShowsWhichFieldsAreHidden(t *testing.T) {
	p := partOf(t, Request{Options: defaults(t)}, 60, 15)
	n := len(p.f.rows)
	see := func(want bool) {
		t.Helper()
		view := strings.Join(p.View(true), "\n")
		if text, _ := p.Position(); strings.Contains(ansi.Strip(view+text), fmt.Sprintf("-%d of %d", n, n)) != want {
			t.Errorf("%q:\n%s", text, ansi.Strip(view))
		}
	}
	see(false)
	pressed(p, "end")
	see(true)
	p.SetSize(100, 8)
	see(true)
	pressed(p, "home")
	see(false)
	p.SetSize(100, 80)
	pressed(p, "end")
	see(false)
}

func TestAListOfChoicesShowsWhichAreHidden(t *testing.T) {
	var all []choice
	for i := range 30 {
		name := fmt.Sprintf("name%02d", i)
		all = append(all, choice{name, name})
	}
	l := newChoiceList(all, false, nil)
	if got := ansi.Strip(l.view(theme.New(true), 40, 6)[0]); got != "type to filter"+strings.Repeat(" ", 17)+"1-5 of 30" {
		t.Errorf("%q", got)
	}
	if got := ansi.Strip(l.view(theme.New(true), 40, 40)[0]); strings.Contains(got, " of ") {
		t.Errorf("%q where all fit", got)
	}
}
