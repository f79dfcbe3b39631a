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

// Scope says which way of running an agent knows an option. The zero value is
// both.
type Scope int

// The scopes.
const (
	Both Scope = iota
	Headless
	Interactive
)

var scopeNames = map[Scope]string{Both: "both", Headless: "headless", Interactive: "interactive"}

// String is the scope's name as it stands in tags.
func (s Scope) String() string {
	if name, ok := scopeNames[s]; ok {
		return name
	}
	return fmt.Sprintf("Scope(%d)", int(s))
}

// MarshalText writes the name.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads a name.
func (s *Scope) UnmarshalText(text []byte) error {
	for scope, name := range scopeNames {
		if name == string(text) {
			*s = scope
			return nil
		}
	}
	return fmt.Errorf("unknown scope %q: headless, interactive or both", text)
}

// Includes reports whether an option of scope s is known when running as run.
func (s Scope) Includes(run Scope) bool { return s == Both || run == Both || s == run }
