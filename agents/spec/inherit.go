package spec

import (
	"fmt"
	"reflect"
	"strings"
)

// Inheritance says which new sessions inherit the value of an earlier session. The zero
// value is none.
type Inheritance int

// The inheritances.
const (
	Never  Inheritance = iota
	Rerun              // sessions that repeat the earlier one
	Always             // sessions that repeat or resume it
)

var inheritanceNames = []string{Never: "never", Rerun: "rerun", Always: "always"}

// String returns the name as written in tags.
func (i Inheritance) String() string {
	if i >= 0 && int(i) < len(inheritanceNames) {
		return inheritanceNames[i]
	}
	return fmt.Sprintf("Inheritance(%d)", int(i))
}

// UnmarshalText parses a name.
func (i *Inheritance) UnmarshalText(text []byte) error {
	for inheritance, name := range inheritanceNames {
		if name == string(text) {
			*i = Inheritance(inheritance)
			return nil
		}
	}
	return unknownWord("inheritance", string(text), inheritanceNames)
}

// Record describes how JSON records store an option, from its json tag.
type Record struct {
	Key    string // empty if records do not store it
	Always bool   // stored even if it is zero: a record without it is older than the option
}

func recordOf(member reflect.StructField) Record {
	key, rest, _ := strings.Cut(member.Tag.Get("json"), ",")
	if key == "-" {
		key = ""
	}
	return Record{Key: key, Always: key != "" && !strings.Contains(rest, "omit")}
}
