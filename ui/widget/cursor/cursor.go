// Package cursor is the selected line in a list, and the part of the list that
// is on the screen. It knows no list, only how long it is.
package cursor

import (
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// Mark stands before the selected line, so that it is told without colors, too.
const Mark = "▸"

// Here is what stands before a line: Mark where the user is, else a space.
func Here(at bool) string {
	if at {
		return Mark
	}
	return " "
}

// Cursor is a place in a list of n lines of which height are shown. Its zero value
// is at the first of none.
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

// Keys is what Press knows, for the help.
func Keys() keymap.Group {
	return keymap.Group{Title: "Move", Keys: []key.Binding{up, down, pageUp, pageDown, first, last}}
}

// Fit tells how long the list is and how many lines of it are shown; the cursor stays
// at its line, or at the last one.
func (c *Cursor) Fit(n, height int) {
	c.n, c.height = max(0, n), max(1, height)
	c.Go(c.at)
}

// At is the selected line; it is 0 in an empty list, too.
func (c *Cursor) At() int { return c.at }

// Window is the lines that are shown: from, and up to but without to.
func (c *Cursor) Window() (from, to int) { return c.top, min(c.n, c.top+c.height) }

// Go goes to a line, or to the nearest there is.
func (c *Cursor) Go(line int) {
	c.at = max(0, min(line, c.n-1))
	c.top = max(min(c.top, c.at), c.at-c.height+1, 0)
	c.top = max(0, min(c.top, c.n-c.height))
}

// Show brings the line before the selected one onto the screen, where there is
// room for both: a heading of it, which no cursor goes to.
func (c *Cursor) Show() {
	if c.height > 1 && c.at > 0 {
		c.top = min(c.top, c.at-1)
	}
}

// Press moves by a key and reports whether the key was one of its own.
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

// Wheel moves by the mouse's wheel.
func (c *Cursor) Wheel(msg tea.MouseWheelMsg) {
	switch msg.Button {
	case tea.MouseWheelUp:
		c.Go(c.at - 1)
	case tea.MouseWheelDown:
		c.Go(c.at + 1)
	}
}

// Click goes to the line in row of the shown part, counted from 0, and reports
// whether there is one.
func (c *Cursor) Click(row int) bool {
	if row < 0 || row >= c.height || c.top+row >= c.n {
		return false
	}
	c.Go(c.top + row)
	return true
}
