// Package theme defines the styles of the terminal UI by meaning: screens ask for what something
// means and never name a color. Color is never the only carrier of a meaning. A word or a mark
// always repeats it, so screens work with NO_COLOR and for color-blind users.
package theme

import (
	"image/color"

	"charm.land/lipgloss/v2"
)

// Theme is the styles of every screen. Make one with New or Basic.
type Theme struct {
	Title    lipgloss.Style // names of screens and panes
	Plain    lipgloss.Style
	Faint    lipgloss.Style // less important
	Selected lipgloss.Style // the selected row; for text without styles
	Good     lipgloss.Style // done, added
	Bad      lipgloss.Style // failed, deleted, refused
	Warn     lipgloss.Style // needs attention
	Live     lipgloss.Style // running
	Key      lipgloss.Style // a key to press
	Rule     lipgloss.Style // lines between panes
	Button   lipgloss.Style // the focused button
	Dialog   lipgloss.Style // the frame of a question

	AddedLine, DeletedLine lipgloss.Style // a changed line of a diff
	AddedWord, DeletedWord lipgloss.Style // what changed within it
	onLine                 map[color.Color]color.Color
}

// On returns a style for text on a changed line: with the background of the line, and a
// foreground that can be read on it.
func (t Theme) On(line, style lipgloss.Style) lipgloss.Style {
	if _, none := line.GetBackground().(lipgloss.NoColor); none {
		return style
	}
	front := style.GetForeground()
	if readable, ok := t.onLine[front]; ok {
		front = readable
	}
	if _, none := front.(lipgloss.NoColor); none {
		front = line.GetForeground()
	}
	return style.Foreground(front).Background(line.GetBackground())
}

// colors are the colors of a theme.
type colors struct {
	faint, good, bad, warn, live, key, rule color.Color
	selected, behind                        color.Color // the selected row; nil reverses the terminal's own

	text, strong           color.Color                 // on changed lines, and on what changed within them
	addedLine, deletedLine color.Color                 // behind them; nil leaves the terminal's own
	onLine                 map[color.Color]color.Color // of text that cannot be read on them, to one that can
	addedWord, deletedWord color.Color
}

// New makes the theme for a terminal with 256 colors or more and a dark or light
// background. Its colors are readable on any such background; the renderer picks the
// nearest of 256.
func New(dark bool) Theme {
	if dark {
		return paint(colors{
			faint: hex("#a8a8a8"), good: hex("#87d787"), bad: hex("#ff8787"), warn: hex("#ffd75f"),
			live: hex("#5fd7ff"), key: hex("#d7afff"), rule: hex("#6c6c6c"), selected: hex("#ffffff"), behind: hex("#3a4c6b"),
			text: hex("#e4e4e4"), strong: hex("#ffffff"), addedLine: hex("#0f3018"), deletedLine: hex("#3a1014"),
			addedWord: hex("#0a7a22"), deletedWord: hex("#8b1a1a"),
			onLine: map[color.Color]color.Color{hex("#a8a8a8"): hex("#c6c6c6"), hex("#d7afff"): hex("#ffd7ff"), hex("#ff8787"): hex("#ffafaf")},
		})
	}
	return paint(colors{
		faint: hex("#626262"), good: hex("#005f00"), bad: hex("#af0000"), warn: hex("#875f00"),
		live: hex("#005faf"), key: hex("#8700af"), rule: hex("#949494"), selected: hex("#000000"), behind: hex("#d0e0ff"),
		text: hex("#1c1c1c"), strong: hex("#000000"), addedLine: hex("#dcffe0"), deletedLine: hex("#ffe0e0"),
		addedWord: hex("#abf2bc"), deletedWord: hex("#ffb8b8"),
		onLine: map[color.Color]color.Color{hex("#875f00"): hex("#5f5f00")},
	})
}

// Basic makes the theme for a terminal with 16 colors, which are the user's own palette,
// or with none: then only bold, faint and reverse remain.
func Basic(dark bool) Theme {
	pick := lipgloss.LightDark(dark)
	of := func(light, dark string) color.Color { return pick(lipgloss.Color(light), lipgloss.Color(dark)) }
	return paint(colors{
		good: of("2", "10"), bad: of("1", "9"), warn: of("3", "11"), live: of("4", "14"), key: of("5", "13"), rule: of("8", "8"),
	})
}

func hex(text string) color.Color { return lipgloss.Color(text) }

// paint makes the styles of colors.
func paint(c colors) Theme {
	in := func(c color.Color) lipgloss.Style { return lipgloss.NewStyle().Foreground(c) }
	t := Theme{
		Title:    lipgloss.NewStyle().Bold(true),
		Plain:    lipgloss.NewStyle(),
		Faint:    lipgloss.NewStyle().Faint(true),
		Selected: lipgloss.NewStyle().Reverse(true),
		Good:     in(c.good),
		Bad:      in(c.bad),
		Warn:     in(c.warn),
		Live:     in(c.live).Bold(true),
		Key:      in(c.key).Bold(true),
		Rule:     in(c.rule),
		Button:   lipgloss.NewStyle().Reverse(true).Bold(true),
		Dialog:   lipgloss.NewStyle().Border(lipgloss.RoundedBorder()).Padding(0, 2).BorderForeground(c.key),
	}
	if c.faint != nil { // terminals disagree about faint, but not about a color
		t.Faint = in(c.faint)
	}
	if c.behind != nil {
		t.Selected = in(c.selected).Background(c.behind).Bold(true)
	}
	t.AddedLine, t.DeletedLine = t.Good, t.Bad
	t.AddedWord, t.DeletedWord = t.Good.Reverse(true), t.Bad.Reverse(true)
	if c.addedLine != nil {
		t.AddedLine, t.DeletedLine = in(c.text).Background(c.addedLine), in(c.text).Background(c.deletedLine)
		t.AddedWord, t.DeletedWord = in(c.strong).Background(c.addedWord), in(c.strong).Background(c.deletedWord)
		t.onLine = c.onLine
	}
	return t
}
