package spec

import (
	"fmt"
	"strings"

	"aibox/internal/spelling"
)

// Mode is the mode of running the agent in which an option applies. The zero value means
// both.
type Mode int

// The modes.
const (
	Both Mode = iota
	Headless
	Interactive
)

var modeNames = []string{Both: "both", Headless: "headless", Interactive: "interactive"}

// String returns the name as written in tags.
func (m Mode) String() string {
	if m >= 0 && int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

// MarshalText writes the name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText parses a name.
func (m *Mode) UnmarshalText(text []byte) error {
	for mode, name := range modeNames {
		if name == string(text) {
			*m = Mode(mode)
			return nil
		}
	}
	return unknownWord("mode", string(text), modeNames)
}

// Includes reports whether an option of mode m applies in mode run.
func (m Mode) Includes(run Mode) bool { return m == Both || run == Both || m == run }

// unknownWord returns an error that suggests a known word or lists all of them.
func unknownWord(kind, word string, known []string) error {
	if near := spelling.Nearest(word, known); near != "" {
		return fmt.Errorf("unknown %s %q: did you mean %q?", kind, word, near)
	}
	return fmt.Errorf("unknown %s %q: %s", kind, word, strings.Join(known, ", "))
}
