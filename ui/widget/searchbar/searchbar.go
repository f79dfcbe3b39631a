// Package searchbar is the line at the foot of a screen for a search or a filter. It only
// edits the text; the screen does the searching.
package searchbar

import (
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// Line is the line. While it is open, it gets every key.
type Line struct {
	field      textinput.Model
	open       bool
	take, drop key.Binding
}

// New makes a closed line. take and drop are the help texts of enter and esc.
func New(take, drop string) Line {
	return Line{field: keymap.Field("/"), take: keymap.Bind(take, "enter"), drop: keymap.Bind(drop, "esc", "ctrl+c")}
}

// SetWidth sets the width of the screen, in cells.
func (l *Line) SetWidth(width int) { l.field.SetWidth(max(1, width-2)) }

// Open opens the line. It keeps its text.
func (l *Line) Open() {
	l.open = true
	l.field.Focus()
}

// Typing reports whether the line is open.
func (l *Line) Typing() bool { return l.open }

// Value returns the text, as typed.
func (l *Line) Value() string { return l.field.Value() }

// Clear clears the text.
func (l *Line) Clear() { l.field.SetValue("") }

// Keys returns the keys that close the line.
func (l *Line) Keys() []key.Binding { return []key.Binding{l.take, l.drop} }

// Update handles a key or a paste while the line is open. Taken means that it was closed
// with its text, Left that it was closed and cleared.
func (l *Line) Update(msg tea.Msg) dialog.Outcome {
	press, _ := msg.(tea.KeyPressMsg)
	switch {
	case key.Matches(press, l.drop):
		l.Clear()
		l.close()
		return dialog.Left
	case key.Matches(press, l.take):
		l.close()
		return dialog.Taken
	}
	l.field, _ = l.field.Update(msg) // the field returns no command
	return dialog.Open
}

func (l *Line) close() {
	l.open = false
	l.field.Blur()
}

// View returns the line with its cursor.
func (l *Line) View() string { return l.field.View() }
