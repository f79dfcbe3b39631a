// Package searchbar is the line at the foot of a screen in which the user types what to
// look for, or what to show alone. It knows no screen and looks for nothing itself.
package searchbar

import (
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
)

// Line is the line. While it is open every key is its own.
type Line struct {
	field      textinput.Model
	open       bool
	take, drop key.Binding
}

// New makes a line that is not open. take and drop say what enter and esc do.
func New(take, drop string) Line {
	return Line{field: keymap.Field("/"), take: keymap.Bind(take, "enter"), drop: keymap.Bind(drop, "esc", "ctrl+c")}
}

// SetWidth tells the columns of the screen.
func (l *Line) SetWidth(width int) { l.field.SetWidth(max(1, width-2)) }

// Open gives the line the keys, with the words that it had.
func (l *Line) Open() {
	l.open = true
	l.field.Focus()
}

// Typing reports whether the line is open.
func (l *Line) Typing() bool { return l.open }

// Value is the words so far, as they were typed.
func (l *Line) Value() string { return l.field.Value() }

// Clear leaves no words.
func (l *Line) Clear() { l.field.SetValue("") }

// Keys are the keys that close the line.
func (l *Line) Keys() []key.Binding { return []key.Binding{l.take, l.drop} }

// Update takes a key or a paste while the line is open. What closes it keeps the words,
// Taken, or leaves none, Left.
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
	l.field, _ = l.field.Update(msg) // no key of a field asks for anything
	return dialog.Open
}

func (l *Line) close() {
	l.open = false
	l.field.Blur()
}

// View is the line with its cursor.
func (l *Line) View() string { return l.field.View() }
