package spec

import (
	"fmt"
	"math"
	"slices"

	"aibox/internal/fault"
)

// Scope says whether a file in a repository, which an agent may have written, can set an
// option. The zero value is no.
type Scope int

// The scopes.
const (
	User       Scope = iota // only the user can set it
	Repository              // harmless: a repository can set it
	AtMost                  // a repository can lower it, switch it off, shorten the list
	AtLeast                 // a repository can raise it, switch it on, lengthen the list
)

var scopeNames = []string{User: "user", Repository: "repository", AtMost: "at-most", AtLeast: "at-least"}

// String returns the name as written in tags.
func (s Scope) String() string {
	if s >= 0 && int(s) < len(scopeNames) {
		return scopeNames[s]
	}
	return fmt.Sprintf("Scope(%d)", int(s))
}

// MarshalText writes the name.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText parses a name.
func (s *Scope) UnmarshalText(text []byte) error {
	for scope, name := range scopeNames {
		if name == string(text) {
			*s = Scope(scope)
			return nil
		}
	}
	return unknownWord("scope", string(text), scopeNames)
}

// Tightens returns nil if a file in a repository can change the option from current, the
// value in force, to proposed. Otherwise it returns a Usage fault with the reason. Values
// have the form of Value. For AtMost and AtLeast the same value is always allowed, and a
// number of 0 or less means no limit, the loosest value, unless the tag key zero is none.
//
// An unset value (nil) is a decision of the user, too. A repository can add nothing to a
// list that is unset, and cannot unset a value, because the default can be looser.
func (f Field) Tightens(current, proposed any) error {
	switch f.Scope {
	case Repository:
		return nil
	case AtMost, AtLeast:
	default:
		return fault.New(fault.Usage, "a settings file in a repository cannot set %q", f.Key).
			Hint("set it in your own settings file; `aibox config path` prints its path")
	}
	var tight bool
	switch {
	case f.Type.words():
		tight = f.wordsTighten(current, proposed)
	case f.Type == Choice:
		tight = f.choiceTightens(current, proposed)
	case f.Type == Bool:
		now, _ := current.(bool)
		next, ok := proposed.(bool)
		tight = (ok || proposed == nil) && (next == now || next == (f.Scope == AtLeast))
	case f.Type.number():
		tight = f.numberTightens(current, proposed)
	}
	if tight {
		return nil
	}
	return fault.New(fault.Usage, "a settings file in a repository can only tighten %q, and %v is looser than %v",
		f.Key, f.printable(proposed), f.printable(current)).
		Hint("set it in your own settings file; `aibox config path` prints its path")
}

func (f Field) numberTightens(current, proposed any) bool {
	if current == Auto && proposed == Auto {
		return true
	}
	now, knownNow := f.quantity(current)
	next, knownNext := f.quantity(proposed)
	if !knownNow || !knownNext {
		return false
	}
	switch {
	case f.Scope == AtLeast:
		return max(next, 0) >= max(now, 0)
	case f.zeroIsNone():
		return max(next, 0) <= max(now, 0)
	}
	return limit(next) <= limit(now)
}

// limit returns n as an upper limit.
func limit(n int64) int64 {
	if n <= 0 {
		return math.MaxInt64
	}
	return n
}

// quantity converts a number or duration from the form of Value; nil is 0.
func (f Field) quantity(value any) (int64, bool) {
	switch value := value.(type) {
	case nil:
		return 0, true
	case int64:
		return value, f.Type == Int || f.Type == Size
	case string:
		n, err := f.Type.parse(value)
		return n, err == nil && f.Type != Int && f.Type != Size // in the form of Value, these are no text
	default:
		return 0, false
	}
}

// choiceTightens compares positions in the list of choices. An unset value means the
// default or, without one, the agent's own behavior.
func (f Field) choiceTightens(current, proposed any) bool {
	now, next := f.effectiveChoice(current), f.effectiveChoice(proposed)
	switch {
	case next == now:
		return true
	case next == "" || !slices.Contains(f.Choices, next):
		return false
	case now == "":
		return true
	}
	before := slices.Index(f.Choices, next) < slices.Index(f.Choices, now)
	return before == (f.Scope == AtMost)
}

func (f Field) effectiveChoice(value any) string {
	text, _ := value.(string)
	if text == "" {
		return f.Default
	}
	return text
}

func (f Field) wordsTighten(current, proposed any) bool {
	now, _ := current.([]string)
	next, listed := proposed.([]string)
	if !listed || next == nil {
		return proposed == nil && current == nil
	}
	inner, outer := next, now
	if f.Scope == AtLeast {
		inner, outer = now, next
	}
	return !slices.ContainsFunc(inner, func(word string) bool { return !slices.Contains(outer, word) })
}

func (f Field) printable(value any) string {
	if value == nil {
		return "nothing"
	}
	if n, ok := value.(int64); ok {
		return f.number(n)
	}
	if text, ok := value.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(value)
}
