package bakery

import (
	"aibox/internal/dockerfile"
	"aibox/internal/fault"
)

// Version is the version of an agent as its package registry names it. Only
// ParseVersion makes one, so it is safe inside a shell line of a Dockerfile.
type Version struct{ text string }

// ParseVersion checks text, such as "1.18.33" or "0.0.1790142911-g7618fb".
func ParseVersion(text string) (Version, error) {
	if !dockerfile.IsVersion(text) {
		return Version{}, fault.New(fault.Usage, "%q is not a version", text).
			Hint("a version starts with a digit and contains only letters, digits and . + _ -, such as --version codex=0.169.0")
	}
	return Version{text: text}, nil
}

// String returns the version's text; empty for the zero value, which means the
// version the Dockerfile pins.
func (v Version) String() string { return v.text }
