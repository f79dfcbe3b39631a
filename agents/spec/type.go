package spec

import "fmt"

// Type is the kind of value an option takes. The zero value is no type.
type Type int

// The types.
const (
	String Type = iota + 1
	Bool
	Int
	Choice // one of Field.Choices
	List   // several words
	Secret // never printed, never in an argument list
)

var typeNames = map[Type]string{
	String: "string", Bool: "bool", Int: "int", Choice: "choice", List: "list", Secret: "secret",
}

// String is the type's name as help and JSON show it.
func (t Type) String() string {
	if name, ok := typeNames[t]; ok {
		return name
	}
	return fmt.Sprintf("Type(%d)", int(t))
}

// MarshalText writes the name.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Mode says which way of running an agent knows an option. The zero value is
// both.
type Mode int

// The modes.
const (
	Both Mode = iota
	Headless
	Interactive
)

var modeNames = map[Mode]string{Both: "both", Headless: "headless", Interactive: "interactive"}

// String is the mode's name as it stands in tags.
func (m Mode) String() string {
	if name, ok := modeNames[m]; ok {
		return name
	}
	return fmt.Sprintf("Mode(%d)", int(m))
}

// MarshalText writes the name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText reads a name.
func (m *Mode) UnmarshalText(text []byte) error {
	for mode, name := range modeNames {
		if name == string(text) {
			*m = mode
			return nil
		}
	}
	return fmt.Errorf("unknown mode %q: headless, interactive or both", text)
}

// Includes reports whether an option of mode m is known when running as run.
func (m Mode) Includes(run Mode) bool { return m == Both || run == Both || m == run }
