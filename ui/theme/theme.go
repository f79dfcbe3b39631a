// Package theme holds the styles of the terminal UI as meanings, not colors. The
// colors are the 16 of the person's own palette; NO_COLOR and poorer terminals are
// obeyed by the renderer, so whatever matters is told by a word or a mark, too.
package theme

import (
	"charm.land/lipgloss/v2"
)

// Theme is the styles of every screen. Make one with New.
type Theme struct {
	Title    lipgloss.Style // names of screens and panes
	Plain    lipgloss.Style
	Faint    lipgloss.Style // what matters less
	Selected lipgloss.Style // the row a person is at
	Good     lipgloss.Style // done, added
	Bad      lipgloss.Style // failed, deleted, refused
	Warn     lipgloss.Style // wants a look
	Live     lipgloss.Style // goes on right now
	Key      lipgloss.Style // a key to press
	Rule     lipgloss.Style // lines between panes
	Button   lipgloss.Style // the choice that enter takes
	Dialog   lipgloss.Style // the frame of a question
}

// New makes the theme for a dark or a light background.
func New(dark bool) Theme {
	pick := lipgloss.LightDark(dark)
	color := func(light, dark string) lipgloss.Style {
		return lipgloss.NewStyle().Foreground(pick(lipgloss.Color(light), lipgloss.Color(dark)))
	}
	border := lipgloss.NewStyle().Border(lipgloss.RoundedBorder()).Padding(0, 2)
	return Theme{
		Title:    lipgloss.NewStyle().Bold(true),
		Plain:    lipgloss.NewStyle(),
		Faint:    lipgloss.NewStyle().Faint(true),
		Selected: lipgloss.NewStyle().Reverse(true),
		Good:     color("2", "10"),
		Bad:      color("1", "9"),
		Warn:     color("3", "11"),
		Live:     color("4", "14").Bold(true),
		Key:      color("5", "13").Bold(true),
		Rule:     color("8", "8"),
		Button:   lipgloss.NewStyle().Reverse(true).Bold(true),
		Dialog:   border.BorderForeground(pick(lipgloss.Color("5"), lipgloss.Color("13"))),
	}
}
