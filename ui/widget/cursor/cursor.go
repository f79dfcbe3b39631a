// Package cursor tracks the selected line of a list and the part of the list that is on
// the screen. It knows only the length of the list.
package cursor

import (
	"fmt"

	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Mark precedes the selected line, so that the selection shows without colors.
const Mark = "▸"

// Unfocused precedes the selected line of a list while another list has the focus, where both
// selections matter.
const Unfocused = "▹"

// Here returns Mark for the selected line, else a space.
func Here(at bool) string {
	if at {
		return Mark
	}
	return " "
}

// HereIn is Here for one of several lists. focused reports whether the list has the focus.
func HereIn(focused, at bool) string {
	if at && !focused {
		return Unfocused
	}
	return Here(at)
}

// Cursor is a position in a list of n lines of which height are shown. The zero value is
// for an empty list.
type Cursor struct {
	at, top   int
	n, height int
}

// The keys that move a cursor.
var (
	up       = keymap.Bind("up", "up", "k")
	down     = keymap.Bind("down", "down", "j")
	pageUp   = keymap.Bind("page up", "pgup", "ctrl+b")
	pageDown = keymap.Bind("page down", "pgdown", "ctrl+f")
	first    = keymap.Bind("first", "home", "g")
	last     = keymap.Bind("last", "end", "G")
)

// Keys returns the keys that Press handles, for the help.
func Keys() keymap.Group {
	return keymap.Group{Title: "Move", Keys: []key.Binding{up, down, pageUp, pageDown, first, last}}
}

// Fit sets the length of the list and how many lines of it are shown. The cursor stays at
// its line, or moves to the last one.
func (c *Cursor) Fit(n, height int) {
	c.n, c.height = max(0, n), max(1, height)
	c.Go(c.at)
}

// At returns the selected line; 0 if the list is empty.
func (c *Cursor) At() int { return c.at }

// Window returns the range of lines that are shown. to is exclusive.
func (c *Cursor) Window() (from, to int) { return c.top, min(c.n, c.top+c.height) }

// Position says which lines are shown if others are hidden; empty if all are shown.
func (c *Cursor) Position() string {
	from, to := c.Window()
	return Range(from, to, c.n)
}

// Range says which of n rows are shown: those before to, beginning with from. It is empty if
// all are. Every list shows it, so that the user can tell that there are more rows.
func Range(from, to, n int) string {
	if from <= 0 && to >= n || to <= from {
		return ""
	}
	return fmt.Sprintf("%d-%d of %d", from+1, to, n)
}

// Go moves to a line, or to the nearest one that exists.
func (c *Cursor) Go(line int) {
	c.at = max(0, min(line, c.n-1))
	c.top = max(min(c.top, c.at), c.at-c.height+1, 0)
	c.top = max(0, min(c.top, c.n-c.height))
}

// Show scrolls to the line before the selected one, if there is room for both: a heading,
// which the cursor never selects.
func (c *Cursor) Show() {
	if c.height > 1 && c.at > 0 {
		c.top = min(c.top, c.at-1)
	}
}

// Press handles a key and reports whether it was one of the cursor's.
func (c *Cursor) Press(msg tea.KeyPressMsg) bool {
	page := max(1, c.height-1)
	switch {
	case key.Matches(msg, up):
		c.Go(c.at - 1)
	case key.Matches(msg, down):
		c.Go(c.at + 1)
	case key.Matches(msg, pageUp):
		c.Go(c.at - page)
	case key.Matches(msg, pageDown):
		c.Go(c.at + page)
	case key.Matches(msg, first):
		c.Go(0)
	case key.Matches(msg, last):
		c.Go(c.n - 1)
	default:
		return false
	}
	return true
}

// Wheel handles the mouse wheel.
func (c *Cursor) Wheel(msg tea.MouseWheelMsg) {
	switch msg.Button {
	case tea.MouseWheelUp:
		c.Go(c.at - 1)
	case tea.MouseWheelDown:
		c.Go(c.at + 1)
	}
}

// Click moves to the line in a row of the window, counted from 0, and reports whether
// that row has a line.
func (c *Cursor) Click(row int) bool {
	if row < 0 || row >= c.height || c.top+row >= c.n {
		return false
	}
	c.Go(c.top + row)
	return true
}
