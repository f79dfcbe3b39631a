package config

import (
	"fmt"
	"path/filepath"
)

// Kind is a place that settings come from. A later one wins over an earlier one.
type Kind int

// The kinds, in the order in which they are merged.
const (
	BuiltIn        Kind = iota
	UserFile            // the user's own file
	RepositoryFile      // the file in a repository: it may only tighten
	Environment         // a variable AIBOX_…
	Flag                // the command line
)

var kindNames = []string{"built-in", "user", "repository", "environment", "flag"}

// String returns the kind's name as JSON shows it.
func (k Kind) String() string {
	if k >= 0 && int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// MarshalText writes the name.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Source is where a value came from.
type Source struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name,omitempty"` // the file, the variable or the flag; empty when built in
	Line int    `json:"line,omitempty"` // of the key, from 1; 0 if the source is not a file
}

// String describes the source for users.
func (s Source) String() string {
	switch {
	case s.Kind == BuiltIn:
		return "built in"
	case s.Kind == RepositoryFile:
		return fmt.Sprintf("%s:%d", filepath.Base(s.Name), s.Line)
	case s.Line > 0:
		return fmt.Sprintf("%s:%d", s.Name, s.Line)
	default:
		return s.Name
	}
}
