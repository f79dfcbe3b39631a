package dialog

import (
	"time"

	"aibox/ui/widget/frame"
)

// Appearance is when a dialog appeared by itself, for example at the end of a command. The
// user may be typing for the screen below, so it ignores keys until none was pressed for
// Grace. The zero value ignores none.
type Appearance struct{ since time.Time }

// Start notes that a dialog appears.
func (a *Appearance) Start(now time.Time) { a.since = now }

// Ignores reports whether a key at now was meant for something else.
func (a *Appearance) Ignores(now time.Time) bool {
	if now.Sub(a.since) >= Grace {
		return false
	}
	a.since = now
	return true
}

// Turned reports whether a key at now was pressed for another row than the one that was selected by
// itself at turned, and says so in the note. what names the rows.
func Turned(turned, now time.Time, what string, note *frame.Note) bool {
	if now.Sub(turned) >= Grace {
		return false
	}
	note.Say("another "+what+" was selected just now, so nothing is done; press the key again", nil)
	return true
}
