package diff

import (
	"strings"

	"aibox/ui/syntax"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
)

// sgr is the escape sequence that starts a style; empty for none. A window of a diff is
// some hundred parts of lines, and rendering each through lipgloss would take as long
// as everything else.
type sgr string

// sgrReset ends every sequence.
const sgrReset = "\x1b[m"

// sgrOf returns the sequence of a style.
func sgrOf(s lipgloss.Style) sgr {
	before, _, _ := strings.Cut(s.Render("x"), "x")
	return sgr(before)
}

// Render returns text in the style.
func (s sgr) Render(text string) string {
	if s == "" || text == "" {
		return text
	}
	return string(s) + text + sgrReset
}

// Styles are the styles of the lines of a diff. Nothing depends on color only: a
// changed line has a sign, and what differs within it is reversed.
type Styles struct {
	Plain, Added, deleted        sgr
	DiffersAdded, DiffersDeleted sgr // what differs within the line
	number, Rule, cursor, Hit    sgr
	Classes                      [syntax.Key + 1]sgr
	tones                        [numTones]sgr
}

func NewStyles(t theme.Theme) Styles {
	return Styles{
		Plain: sgrOf(t.Plain), Added: sgrOf(t.Good), deleted: sgrOf(t.Bad),
		DiffersAdded: sgrOf(t.Good.Reverse(true)), DiffersDeleted: sgrOf(t.Bad.Reverse(true)),
		number: sgrOf(t.Faint), Rule: sgrOf(t.Rule), cursor: sgrOf(t.Key), Hit: sgrOf(t.Warn.Reverse(true).Bold(true)),
		Classes: [syntax.Key + 1]sgr{
			syntax.Comment: sgrOf(t.Faint), syntax.String: sgrOf(t.Warn), syntax.Number: sgrOf(t.Live.Bold(false)),
			syntax.Keyword: sgrOf(t.Key.Bold(false)), syntax.Type: sgrOf(t.Live.Bold(false)), syntax.Key: sgrOf(t.Live.Bold(false)),
		},
		tones: [numTones]sgr{quietTone: sgrOf(t.Faint), warningTone: sgrOf(t.Warn), commentTone: sgrOf(t.Live), titleTone: sgrOf(t.Title)},
	}
}

// ofLine returns the style of a line by its sign, and of what differs within it.
func (k *Styles) ofLine(op byte) (line, differs sgr) {
	switch op {
	case '+':
		return k.Added, k.DiffersAdded
	case '-':
		return k.deleted, k.DiffersDeleted
	default:
		return k.Plain, k.Plain
	}
}
