package form

import (
	"aibox/ui/widget/theme"

	"charm.land/huh/v2"
	"charm.land/lipgloss/v2"
)

// styles are the form's styles, from those of every screen. A mark or a word carries the
// meaning besides the color.
type styles struct {
	Section lipgloss.Style // a heading
	Current lipgloss.Style // the current question
	Value   lipgloss.Style // set values
	Faint   lipgloss.Style // help, and values that are not set
	Problem lipgloss.Style // invalid values
	Rule    lipgloss.Style // lines between the parts
	Button  lipgloss.Style // the side of a switch that is on
}

// stylesOf are the styles of a screen's theme.
func stylesOf(t theme.Theme) styles {
	return styles{
		Section: t.Key, Current: t.Live, Value: t.Good, Faint: t.Faint, Problem: t.Bad.Bold(true), Rule: t.Rule, Button: t.Button,
	}
}

// theme is the styles for huh.
func (s styles) theme() huh.Theme {
	t := huh.ThemeBase(true)
	f := &t.Focused
	f.Base = lipgloss.NewStyle()
	f.Title, f.Description = s.Current, s.Faint
	f.ErrorIndicator, f.ErrorMessage = s.Problem.SetString(" *"), s.Problem
	f.SelectSelector, f.MultiSelectSelector = s.Current.SetString("> "), s.Current.SetString("> ")
	f.SelectedOption, f.UnselectedOption = s.Value, lipgloss.NewStyle()
	f.SelectedPrefix, f.UnselectedPrefix = s.Value.SetString("[x] "), lipgloss.NewStyle().SetString("[ ] ")
	f.FocusedButton = s.Button.SetString("●").Padding(0, 1).MarginRight(1)
	f.BlurredButton = lipgloss.NewStyle().SetString("○").Padding(0, 1).MarginRight(1)
	f.TextInput.Prompt, f.TextInput.Placeholder, f.TextInput.Cursor = s.Current, s.Faint, s.Current
	t.Blurred = t.Focused
	return huh.ThemeFunc(func(bool) *huh.Styles { return t })
}

// plainStyles have no colors, for line-by-line forms.
func plainStyles() styles { return styles{} }
