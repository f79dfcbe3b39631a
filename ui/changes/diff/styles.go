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
// changed line has a sign, and without backgrounds what differs within it is reversed.
type Styles struct {
	Context, Added, Deleted   LineStyle
	number, Rule, cursor, Hit sgr
	tones                     [numTones]sgr
}

// LineStyle is the styles of a line with one sign.
type LineStyle struct {
	sign, text sgr
	Differs    sgr // parts that the other version of the line lacks
	blanks     sgr // blanks at its end
	Classes    [syntax.Key + 1]sgr
}

// NewStyles returns the styles of a theme.
func NewStyles(t theme.Theme) Styles {
	return Styles{
		Context: lineStyle(t, t.Plain, t.Plain, t.Plain),
		Added:   lineStyle(t, t.AddedLine, t.Good, t.AddedWord),
		Deleted: lineStyle(t, t.DeletedLine, t.Bad, t.DeletedWord),
		number:  sgrOf(t.Faint), Rule: sgrOf(t.Rule), cursor: sgrOf(t.Key), Hit: sgrOf(t.Warn.Reverse(true).Bold(true)),
		tones: [numTones]sgr{quietTone: sgrOf(t.Faint), warningTone: sgrOf(t.Warn), commentTone: sgrOf(t.Live), titleTone: sgrOf(t.Title)},
	}
}

// lineStyle returns the styles of lines that are shown as line is.
func lineStyle(t theme.Theme, line, sign, differs lipgloss.Style) LineStyle {
	on := func(style lipgloss.Style) sgr { return sgrOf(t.On(line, style.Bold(false))) }
	return LineStyle{
		sign: on(sign), text: sgrOf(line), Differs: sgrOf(differs), blanks: on(t.Warn),
		Classes: [syntax.Key + 1]sgr{
			syntax.Comment: on(t.Faint), syntax.String: on(t.Warn), syntax.Number: on(t.Live),
			syntax.Keyword: on(t.Key), syntax.Type: on(t.Live), syntax.Key: on(t.Live),
		},
	}
}

// of returns the style of a line by its sign.
func (k *Styles) of(op byte) *LineStyle {
	switch op {
	case '+':
		return &k.Added
	case '-':
		return &k.Deleted
	default:
		return &k.Context
	}
}
