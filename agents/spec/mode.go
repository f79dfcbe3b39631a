package spec

import (
	"fmt"
	"strings"
)

// Mode says which way of running an agent knows an option. The zero value is
// both.
type Mode int

// The modes.
const (
	Both Mode = iota
	Headless
	Interactive
)

var modeNames = []string{Both: "both", Headless: "headless", Interactive: "interactive"}

// String is the mode's name as written in tags.
func (m Mode) String() string {
	if m >= 0 && int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

// MarshalText writes the name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a name.
func (m *Mode) UnmarshalText(text []byte) error {
	for mode, name := range modeNames {
		if name == string(text) {
			*m = Mode(mode)
			return nil
		}
	}
	return unknownWord("mode", string(text), modeNames)
}

// Includes reports whether an option of mode m is known when running as run.
func (m Mode) Includes(run Mode) bool { return m == Both || run == Both || m == run }

// unknownWord says which words a tag key takes, and which one was meant.
func unknownWord(kind, word string, known []string) error {
	if near := Closest(word, known); near != "" {
		return fmt.Errorf("unknown %s %q: did you mean %q?", kind, word, near)
	}
	return fmt.Errorf("unknown %s %q: %s", kind, word, strings.Join(known, ", "))
}
