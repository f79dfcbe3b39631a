package changes

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

// summaryPart is a part of the summary, in words of decreasing length.
type summaryPart []string

// draftSummary says what accepting would do now, in at most width columns; 0 is no limit. The files that
// need a review come first. If it does not fit, parts are shortened, the last one first.
func draftSummary(draft *decision.Draft, style theme.Theme, width int) string {
	return summaryOf(draft.Tally(), draft.Target(), style, width)
}

// summaryOf is summary for a tally and a target.
func summaryOf(t decision.Tally, target accept.Target, style theme.Theme, width int) string {
	parts := summaryParts(t, target, style)
	words := make([]string, len(parts))
	for i, part := range parts {
		words[i] = part[0]
	}
	join := func() string { return strings.Join(words, " · ") }
	for i := len(parts) - 1; width > 0 && i >= 0; i-- {
		for _, shorter := range parts[i][1:] {
			if ansi.StringWidth(join()) > width {
				words[i] = shorter
			}
		}
	}
	if width == 0 {
		return join()
	}
	return ansi.Truncate(join(), width, "…")
}

// summaryParts returns the parts of the summary, the most important one first.
func summaryParts(t decision.Tally, target accept.Target, style theme.Theme) []summaryPart {
	var parts []summaryPart
	if n := t.Risky; n > 0 {
		need := "need"
		if n == 1 {
			need = "needs"
		}
		parts = append(parts, summaryPart{
			style.Warn.Render(fmt.Sprintf("%s %s review before accepting", amount.Of(n, "file"), need)),
			style.Warn.Render(fmt.Sprintf("%d need review", n)),
		})
	}
	where := "the new branch"
	if target == accept.ToWorktree {
		where = "your working tree"
	}
	if t.AcceptsAny() {
		selected := style.Good.Render(fmt.Sprint(t.Accepted + t.Mixed))
		lines := style.Good.Render(fmt.Sprintf("+%d", t.Lines.Added)) + " " + style.Bad.Render(fmt.Sprintf("-%d", t.Lines.Deleted))
		parts = append(parts, summaryPart{
			fmt.Sprintf("%s of %s selected for %s, %s", selected, amount.Of(t.Files, "file"), where, lines),
			fmt.Sprintf("%s of %d selected, %s", selected, t.Files, lines),
		})
	} else {
		parts = append(parts, summaryPart{"nothing selected for " + where, "nothing selected"})
	}
	for _, of := range []struct {
		n    int
		what string
	}{{t.Undecided, "undecided"}, {t.Rejected, "rejected"}, {t.Delivered, "accepted before"}, {t.Mixed, "in part"}} {
		if of.n > 0 {
			parts = append(parts, summaryPart{fmt.Sprintf("%d %s", of.n, of.what)})
		}
	}
	return parts
}
