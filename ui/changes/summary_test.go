package changes

import (
	"testing"

	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestTheSummaryBeginsWithWhatNeedsReviewAndIsShortenedToFit(t *testing.T) {
	var changes, few decision.Tally
	changes = decision.Tally{
		Files: 34, Accepted: 4, Mixed: 1, Rejected: 2, Delivered: 3, Undecided: 24, Risky: 10, Lines: decision.Size{Added: 120, Deleted: 33},
	}
	few = decision.Tally{Files: 5, Undecided: 5, Risky: 1}
	for _, c := range []struct {
		tally  decision.Tally
		target accept.Target
		width  int
		want   string
	}{
		{changes, accept.ToBranch, 0, "10 files need review before accepting · 5 of 34 files selected for the new branch, +120 -33 · 24 undecided · 2 rejected · 3 accepted before · 1 in part"},
		{changes, accept.ToBranch, 120, "10 need review · 5 of 34 selected, +120 -33 · 24 undecided · 2 rejected · 3 accepted before · 1 in part"},
		{changes, accept.ToBranch, 80, "10 need review · 5 of 34 selected, +120 -33 · 24 undecided · 2 rejected · 3 acc…"},
		{few, accept.ToWorktree, 80, "1 file needs review before accepting · nothing selected · 5 undecided"},
		{few, accept.ToBranch, 100, "1 file needs review before accepting · nothing selected for the new branch · 5 undecided"},
		{decision.Tally{Files: 1, Undecided: 1}, accept.ToWorktree, 80, "nothing selected for your working tree · 1 undecided"},
	} {
		if got := ansi.Strip(summaryOf(c.tally, c.target, theme.New(true), c.width)); got != c.want {
			t.Errorf("%d columns:\n%s\nnot\n%s", c.width, got, c.want)
		}
	}
}

func TestThePositionIsInTheHead(t *testing.T) {
	p, _ := open(t)
	p.Sees("file 1/5, hunk 1/1")
	p.goTo("src/big.txt")
	p.Sees("file 3/5, hunk 1/2")
	p.Press("]")
	p.Sees("file 3/5, hunk 2/2")
	p.Press("s", "home")
	p.Sees("file 3/5, 2 hunks")
	p.Resize(80, 24)
	p.Sees("file 3/5, 2 hunks")
}
