package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/secret"
)

// Field is one option of an agent. It describes; the value stays in the struct.
type Field struct {
	Name    string   // the Go field, for errors to programmers
	Key     string   // what a person types: the name in kebab-case, "reasoning-effort"
	Label   string   // short, for forms
	Help    string   // one sentence
	Group   string   // heading in forms; empty means the main group
	Type    Type     // what values it takes
	Flag    []string // words of the agent's own command line; nil when it has none
	Env     string   // variable of the agent's environment; empty when it has none
	Default string   // as text, empty when the zero value is the default
	Choices []string // for Choice: every value allowed
	Min     int      // for Int; both 0 means no bounds
	Max     int
	Mode    Mode // where the agent knows this option

	index []int
}

// Set parses text and stores it in v, a pointer to the struct the field was read
// from. A list is replaced by the comma-separated words of text; empty text
// empties any field. What a person got wrong comes back as a Usage fault.
func (f Field) Set(v any, text string) error {
	target, err := f.target(v)
	if err != nil {
		return err
	}
	if f.Type == List {
		target.Set(reflect.ValueOf(splitList(text)))
		return nil
	}
	return f.store(target, text)
}

// Add is Set for anything but a list; to a list it appends text as one word, so
// that a repeated flag may carry commas.
func (f Field) Add(v any, text string) error {
	if f.Type != List {
		return f.Set(v, text)
	}
	target, err := f.target(v)
	if err != nil {
		return err
	}
	target.Set(reflect.Append(target, reflect.ValueOf(text)))
	return nil
}

// Text is the field's value in v as Set would take it: "" when it is not set, and
// dots for a secret.
func (f Field) Text(v any) string {
	target, err := f.target(v)
	if err != nil || target.IsZero() {
		return ""
	}
	if f.Type == List {
		return strings.Join(f.words(target), ",")
	}
	return fmt.Sprint(target.Interface())
}

// store parses text for every type but List.
func (f Field) store(target reflect.Value, text string) error {
	if text == "" {
		target.SetZero()
		return nil
	}
	switch f.Type {
	case Bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return fault.New(fault.Usage, "option %q takes true or false, not %q", f.Key, text)
		}
		target.SetBool(on)
	case Int:
		return f.storeInt(target, text)
	case Secret:
		target.Set(reflect.ValueOf(secret.New(text)))
	case Choice:
		if !slices.Contains(f.Choices, text) {
			return f.badChoice(text)
		}
		target.SetString(text)
	default:
		target.SetString(text)
	}
	return nil
}

func (f Field) storeInt(target reflect.Value, text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return fault.New(fault.Usage, "option %q takes a whole number, not %q", f.Key, text)
	}
	if (f.Min != 0 || f.Max != 0) && (n < f.Min || n > f.Max) {
		return fault.New(fault.Usage, "option %q takes a number from %d to %d, not %d", f.Key, f.Min, f.Max, n)
	}
	target.SetInt(int64(n))
	return nil
}

func (f Field) badChoice(text string) error {
	bad := fault.New(fault.Usage, "option %q cannot be %q: choose one of %s", f.Key, text, strings.Join(f.Choices, ", "))
	if near := Closest(text, f.Choices); near != "" {
		bad = bad.Hint("did you mean --set %s=%s?", f.Key, near)
	}
	return bad
}

// target is the settable field in v, or an error that says how v is wrong.
func (f Field) target(v any) (reflect.Value, error) {
	value := reflect.ValueOf(v)
	if value.Kind() != reflect.Pointer || value.IsNil() || value.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, fmt.Errorf("spec: option %q needs a pointer to a struct, not %T", f.Key, v)
	}
	structure := value.Elem()
	if len(f.index) == 0 || f.index[0] >= structure.NumField() ||
		structure.Type().Field(f.index[0]).Name != f.Name {
		return reflect.Value{}, fmt.Errorf("spec: %T has no field %s", v, f.Name)
	}
	return structure.FieldByIndex(f.index), nil
}

func (f Field) words(target reflect.Value) []string {
	words, _ := target.Interface().([]string)
	return words
}

func splitList(text string) []string {
	var words []string
	for word := range strings.SplitSeq(text, ",") {
		if word = strings.TrimSpace(word); word != "" {
			words = append(words, word)
		}
	}
	return words
}
