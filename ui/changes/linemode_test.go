package changes

import (
	"slices"
	"testing"

	"aibox/review"
	"aibox/review/accept"
	"aibox/ui/uitest"
)

func TestSingleLinesAreTakenAndUndone(t *testing.T) {
	for _, keys := range [][]string{{}, {"|"}} { // also side by side
		p, services := open(t)
		p.goTo("src/big.txt")
		p.Press(keys...)
		p.Press("L")
		p.Sees("space takes a line")
		id := p.m.diff.File().Hunks()[0].ID
		first := p.m.diff.ChangedLines(0, p.m.diff.Row, p.m.diff.Row)
		p.Press("space")
		p.Sees("of 4 lines]")
		if got := p.m.draft.Choice().Hunks; !slices.Equal(got, review.LineChoices(id, first)) {
			t.Errorf("%v, want lines %v", got, first)
		}
		p.Press("v", "down", "down", "down", "down", "space") // the range adds to it
		if got := p.m.diff.File().AcceptedLines(&p.m.diff.File().Hunks()[0]); len(got) <= len(first) {
			t.Errorf("after a range: %v", got)
		}
		p.Press("u")
		p.Press("esc")
		if p.m.lines != nil {
			t.Error("esc does not end it")
		}
		p.Press("enter")
		p.accept()
		if got := services.accepts[0]; got.Target != accept.ToBranch || !slices.Equal(got.Choice.Hunks, review.LineChoices(id, first)) {
			t.Errorf("%+v", got)
		}
	}
}

func TestARangeBeginsAtItsLineWhenRowsMove(t *testing.T) {
	for _, c := range []struct {
		keys []string
		want []int
	}{
		{[]string{"L", "down", "v", "e", "down", "space"}, []int{2}},                                 // one more line above
		{[]string{"L", "down", "down", "down", "down", "v", "|", "down", "space"}, []int{3, 4}},      // side by side
		{[]string{"|", "L", "down", "down", "down", "v", "|", "down", "down", "space"}, []int{3, 4}}, // and back
	} {
		p, _ := open(t)
		p.goTo("src/big.txt")
		p.Press(c.keys...)
		if got := p.m.diff.File().AcceptedLines(&p.m.diff.File().Hunks()[0]); !slices.Equal(got, c.want) {
			t.Errorf("%v: takes %v, not %v:\n%s", c.keys, got, c.want, p.View())
		}
	}
}

func TestARangeThatBeganInAnotherHunkTakesNothing(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/big.txt")
	p.Press("L", "v", "]", "down", "down", "down", "down", "space")
	p.Sees("the range began in another hunk, so nothing is taken")
	if got := p.m.draft.Choice(); !got.Empty() {
		t.Errorf("took %+v", got)
	}
	p.Press("v", "tab")
	p.goTo("Makefile")
	p.Press("down", "down", "space")
	if got := p.m.draft.Choice(); !got.Empty() {
		t.Errorf("took %+v", got)
	}
}

func TestANewFileHasNoSingleLinesToTake(t *testing.T) {
	p, _ := open(t)
	p.goTo("src/blob.bin")
	p.Press("L")
	p.Sees("this change can only be taken as a whole")
}

func TestTakingLinesMatchesItsGoldenViews(t *testing.T) {
	for _, size := range uitest.Sizes {
		p, _ := open(t)
		p.Resize(size[0], size[1])
		p.goTo("src/big.txt")
		p.Press("L")
		p.Show("begun")
		p.Press("space")
		p.Show("one line taken")
		p.Press("v", "down", "down")
		p.Show("a range")
		p.Press("space")
		p.Show("the range taken")
		p.Press("esc")
		p.Show("ended")
		p.Golden("lines-")
	}
}
