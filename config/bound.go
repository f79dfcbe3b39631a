package config

import (
	"slices"

	"aibox/agents/spec"
	"aibox/internal/fault"
)

// CheckBound returns nil if a run with the settings next is at most as free as one with the
// settings of r: each setting that a repository could tighten is the same or tighter, and
// each of the others is the same. The settings named in free can have any value. Otherwise
// it returns a Refused fault about the first setting that is looser.
func (r *Resolved) CheckBound(next *Run, free ...string) error {
	for _, field := range RunFields() {
		if slices.Contains(free, field.Key) {
			continue
		}
		setting, err := r.Find(field.Key)
		if err != nil {
			return err
		}
		e := entry{key: field.Key, section: setting.section, field: field}
		if !e.isWithin(setting.Value, field.Value(next)) && !e.reachesLess(next, &r.Settings.Run) {
			return fault.New(fault.Refused, "the setting %q can be at most as free as in the user's settings, where it is %s", field.Key, boundText(setting)).
				Hint("leave it out, or let the user change it: aibox config set %s VALUE", field.Key)
		}
	}
	return nil
}

// isWithin reports whether the value next is the same as now or tighter.
func (e entry) isWithin(now, next any) bool {
	if e.field.Scope == spec.AtMost || e.field.Scope == spec.AtLeast {
		return e.tightens(now, next) == nil && e.shows(added(now, next)) == nil
	}
	return equalValues(now, next)
}

// reachesLess reports whether e is the allow list of a run that reaches less than one with the policy
// public.
func (e entry) reachesLess(next, now *Run) bool {
	return e.field.Key == "allow" && e.section.less != nil && e.section.less(next, now)
}

// added returns the words that the list next has after those of now, which are the user's own and
// may show files again. If next does not begin with them, it returns all words, since the order of
// patterns counts.
func added(now, next any) []string {
	own, _ := now.([]string)
	words, _ := next.([]string)
	if len(words) >= len(own) && slices.Equal(words[:len(own)], own) {
		return words[len(own):]
	}
	return words
}

// equalValues compares values as spec.Field.Value returns them. An empty list is no list.
func equalValues(a, b any) bool {
	first, firstIsList := a.([]string)
	second, secondIsList := b.([]string)
	if firstIsList || secondIsList {
		return (firstIsList || a == nil) && (secondIsList || b == nil) && slices.Equal(first, second)
	}
	return a == b
}

// boundText returns the value of a setting for an error.
func boundText(s Setting) string {
	if text := s.Text(); text != "" {
		return text
	}
	return "not set"
}
