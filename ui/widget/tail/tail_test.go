package tail

import (
	"testing"

	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestEveryHitOfARowIsHighlighted(t *testing.T) {
	th := theme.New(true)
	cases := []struct{ row, words, want string }{
		{"an error", "", "an error"},
		{"an error", "warning", "an error"},
		{"Error, then error", "ERROR", th.Selected.Render("Error") + ", then " + th.Selected.Render("error")},
		{th.Warn.Render("an error"), "error", "an " + th.Selected.Render("error")},
		{"İ error", "error", "İ error"}, // its lower case is longer
	}
	for _, c := range cases {
		if got := Highlight(th, c.row, c.words); got != c.want {
			t.Errorf("%q in %q is %q, not %q", c.words, c.row, got, c.want)
		}
	}
}

func TestThePositionIsAtTheEndOfTheLastRow(t *testing.T) {
	rows := WithPosition([]string{"first"}, 30, 3, Position(theme.New(true), true, "3/17"))
	if len(rows) != 3 || rows[0] != "first" || ansi.StringWidth(rows[2]) != 30 || ansi.Strip(rows[2]) != "      3/17 · end to the bottom" {
		t.Errorf("the rows are %q", rows)
	}
}
