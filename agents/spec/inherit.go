package spec

import (
	"fmt"
	"reflect"
	"strings"
)

// Inheritance says which new session takes the value that an earlier session had. The
// zero value is none.
type Inheritance int

// The inheritances.
const (
	Never  Inheritance = iota
	Rerun              // one that repeats the earlier session
	Always             // one that repeats or resumes it
)

var inheritanceNames = []string{Never: "never", Rerun: "rerun", Always: "always"}

// String is the inheritance's name as written in tags.
func (i Inheritance) String() string {
	if i >= 0 && int(i) < len(inheritanceNames) {
		return inheritanceNames[i]
	}
	return fmt.Sprintf("Inheritance(%d)", int(i))
}

// UnmarshalText reads a name.
func (i *Inheritance) UnmarshalText(text []byte) error {
	for inheritance, name := range inheritanceNames {
		if name == string(text) {
			*i = Inheritance(inheritance)
			return nil
		}
	}
	return unknownWord("inheritance", string(text), inheritanceNames)
}

// Record is how a JSON record holds an option, by its json tag.
type Record struct {
	Key    string // empty when the record does not hold it
	Always bool   // it is there even when it is zero, so a record without it is older than the option
}

func recordOf(member reflect.StructField) Record {
	key, rest, _ := strings.Cut(member.Tag.Get("json"), ",")
	if key == "-" {
		key = ""
	}
	return Record{Key: key, Always: key != "" && !strings.Contains(rest, "omit")}
}
