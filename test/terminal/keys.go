package terminal

import (
	"fmt"
	"strings"
	"time"
)

// named are the keys that have no character, as a plain xterm sends them.
var named = map[string]string{
	"enter": "\r", "esc": "\x1b", "tab": "\t", "shift+tab": "\x1b[Z", "space": " ", "backspace": "\x7f", "delete": "\x1b[3~",
	"up": "\x1b[A", "down": "\x1b[B", "right": "\x1b[C", "left": "\x1b[D",
	"home": "\x1b[H", "end": "\x1b[F", "pgup": "\x1b[5~", "pgdown": "\x1b[6~", "f1": "\x1bOP",
}

// Key is what a terminal sends for a key: a name such as "enter", "ctrl+s" or
// "pgdown", or a character.
func Key(name string) string {
	if bytes, ok := named[name]; ok {
		return bytes
	}
	if letter, ok := strings.CutPrefix(name, "ctrl+"); ok && len(letter) == 1 {
		return string(letter[0] & 0x1f)
	}
	return name
}

// Button is a mouse button as terminals number it (SGR mode).
type Button int

// The buttons, and the wheel.
const (
	Left      Button = 0
	Middle    Button = 1
	Right     Button = 2
	WheelUp   Button = 64
	WheelDown Button = 65
)

// Mouse is what a terminal sends for a click at a column and a row, from 0: the
// button down, and up again if it is one.
func Mouse(button Button, column, row int) string {
	down := fmt.Sprintf("\x1b[<%d;%d;%dM", button, column+1, row+1)
	if button >= WheelUp {
		return down
	}
	return down + fmt.Sprintf("\x1b[<%d;%d;%dm", button, column+1, row+1)
}

// Paste is what a terminal sends for pasted text.
func Paste(text string) string { return "\x1b[200~" + text + "\x1b[201~" }

// Type sends text unchanged.
func (t *Terminal) Type(text string) error {
	t.mu.Lock()
	t.typed = time.Now()
	t.mu.Unlock()
	_, err := t.master.WriteString(text)
	return err
}

// Press sends keys by name (see Key), all at once.
func (t *Terminal) Press(names ...string) error {
	var keys strings.Builder
	for _, name := range names {
		keys.WriteString(Key(name))
	}
	return t.Type(keys.String())
}
