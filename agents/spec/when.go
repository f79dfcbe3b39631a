package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// condition is a parsed "when". The zero value always holds.
type condition struct {
	key   string
	value string // empty: the option is set or on
	not   bool
}

func parseWhen(text string) (condition, error) {
	key, value, compares := strings.Cut(text, "=")
	c := condition{key: key, value: value}
	if c.key, c.not = strings.CutSuffix(key, "!"); !compares && c.not || compares && value == "" || c.key == "" {
		return c, fmt.Errorf("tag key \"when\": %q is not key, key=value or key!=value", text)
	}
	return c, nil
}

// link checks the conditions between fields.
func link(fields []Field) (Field, error) {
	for _, field := range fields {
		if field.When == "" {
			continue
		}
		other, ok := byKey(fields, field.when.key)
		switch {
		case field.when.key == field.Key:
			return field, fmt.Errorf("tag key \"when\": it depends on itself")
		case !ok:
			return field, fmt.Errorf("tag key \"when\": there is no option %q", field.when.key)
		case field.when.value == "":
		case other.Type == Secret:
			return field, fmt.Errorf("tag key \"when\": a secret cannot be compared with a value")
		default:
			if err := other.canBe(field.when.value); err != nil {
				return field, fmt.Errorf("tag key \"when\": %w", err)
			}
		}
		if dependsOnItself(fields, field) {
			return field, fmt.Errorf("tag key \"when\": %q depends on it in turn", field.when.key)
		}
	}
	return Field{}, nil
}

// canBe returns an error if the field can never be equal to value.
func (f Field) canBe(value string) error {
	if f.Type == Bool && (value == "true" || value == "false") {
		return nil
	}
	scratch := reflect.New(f.goType).Elem()
	if err := f.store(scratch, value); err != nil {
		return err
	}
	if text := f.text(scratch); text != value {
		return fmt.Errorf("%q is written %q", value, text)
	}
	return nil
}

func dependsOnItself(fields []Field, start Field) bool {
	field, seen := start, map[string]bool{}
	for field.When != "" && !seen[field.Key] {
		seen[field.Key] = true
		next, ok := byKey(fields, field.when.key)
		if !ok {
			return false
		}
		field = next
	}
	return field.Key == start.Key
}

func byKey(fields []Field, key string) (Field, bool) {
	i := slices.IndexFunc(fields, func(f Field) bool { return f.Key == key })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// Visible reports whether field has an effect with the current options of v, a pointer to
// the struct: its condition holds, the option that it depends on is visible, and the
// struct's own Visible method does not return false. Options that are not visible are not
// passed to the agent.
func Visible(v any, field Field) bool {
	if field.When == "" && !hasVisible(v) {
		return true
	}
	fields, err := Of(v)
	return err == nil && visible(v, fields, field)
}

func hasVisible(v any) bool {
	_, ok := v.(interface{ Visible(key string) bool })
	return ok
}

func visible(v any, fields []Field, field Field) bool {
	if visibility, ok := v.(interface{ Visible(key string) bool }); ok && !visibility.Visible(field.Key) {
		return false
	}
	if field.When == "" {
		return true
	}
	other, ok := byKey(fields, field.when.key)
	if !ok {
		return false
	}
	target, err := other.target(v)
	return err == nil && visible(v, fields, other) && field.when.holds(other, target)
}

// holds reports whether the other option, whose value is target, meets the condition. A
// list is equal to each of its words.
func (c condition) holds(other Field, target reflect.Value) bool {
	words, isList := target.Interface().([]string)
	switch {
	case c.value == "" && isList:
		return len(words) > 0
	case c.value == "":
		return !target.IsZero()
	case isList:
		return slices.Contains(words, c.value) != c.not
	case other.Type == Bool:
		return fmt.Sprint(target.Bool()) == c.value != c.not
	default:
		return (other.text(target) == c.value) != c.not
	}
}
