package changes

import (
	"strings"

	"aibox/ui/syntax"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
)

// ink is the sequence that begins a style; empty for none. A window of a diff is some
// hundred parts of lines, and painting each by its style would take as long as all
// the rest.
type ink string

// plainAgain ends every ink.
const plainAgain = "\x1b[m"

// inkOf is the ink of a style.
func inkOf(s lipgloss.Style) ink {
	before, _, _ := strings.Cut(s.Render("x"), "x")
	return ink(before)
}

// paint is text in the ink.
func (i ink) paint(text string) string {
	if i == "" || text == "" {
		return text
	}
	return string(i) + text + plainAgain
}

// inks are the styles of the lines of a diff. What a part of a line is only colors the
// text; what happened to the line is told by its sign, too, and what differs within it
// is turned around.
type inks struct {
	plain, added, deleted   ink
	wasAdded, wasDeleted    ink // what differs within the line
	number, rule, here, hit ink
	classes                 [syntax.Key + 1]ink
	tones                   [named + 1]ink
}

func newInks(t theme.Theme) inks {
	return inks{
		plain: inkOf(t.Plain), added: inkOf(t.Good), deleted: inkOf(t.Bad),
		wasAdded: inkOf(t.Good.Reverse(true)), wasDeleted: inkOf(t.Bad.Reverse(true)),
		number: inkOf(t.Faint), rule: inkOf(t.Rule), here: inkOf(t.Key), hit: inkOf(t.Warn.Reverse(true).Bold(true)),
		classes: [syntax.Key + 1]ink{
			syntax.Comment: inkOf(t.Faint), syntax.String: inkOf(t.Warn), syntax.Number: inkOf(t.Live.Bold(false)),
			syntax.Keyword: inkOf(t.Key.Bold(false)), syntax.Type: inkOf(t.Live.Bold(false)), syntax.Key: inkOf(t.Live.Bold(false)),
		},
		tones: [named + 1]ink{quiet: inkOf(t.Faint), warns: inkOf(t.Warn), said: inkOf(t.Live), named: inkOf(t.Title)},
	}
}

// ofLine is the ink of a line by its sign, and of what differs within it.
func (k inks) ofLine(op byte) (line, differs ink) {
	switch op {
	case '+':
		return k.added, k.wasAdded
	case '-':
		return k.deleted, k.wasDeleted
	default:
		return k.plain, k.plain
	}
}
