package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/spelling"
)

// Field describes one option. The value is in the struct.
type Field struct {
	Name    string   // the Go field, for errors to programmers
	Key     string   // the name that the user types, in kebab-case, "reasoning-effort"
	Label   string   // short, for forms
	Help    string   // one sentence
	Group   string   // heading in forms; empty means the main group
	Type    Type     // the type of its values
	Flag    []string // words of the agent's own command line; nil if it has none
	Env     string   // variable of the agent's environment; empty if it has none
	Default string   // as text; empty if the zero value is the default
	Choices []string // for Choice and Choices: the allowed values, from tight to loose
	Min     *int64   `json:",omitempty"` // for Int and Duration (nanoseconds); nil means no limit
	Max     *int64   `json:",omitempty"`
	Mode    Mode     // the modes in which it applies
	Scope   Scope    // whether a repository's file can set it
	When    string   `json:",omitempty"` // the condition as in the tag; empty means always

	// Auto describes the number that the word Auto means; empty if the option does not take
	// the word. The caller replaces the word before it uses the value.
	Auto string `json:",omitempty"`

	// Zero is what the number 0 means: "no limit", "forever", or "none", which is the tightest
	// value. Empty means that 0 is a number like others; a limit of 0 is no limit then, too.
	Zero string `json:",omitempty"`

	Placeholder string      `json:"-"` // name of the value in the flag's help
	Inherit     Inheritance `json:"-"` // which new sessions inherit the value
	Record      Record      `json:"-"` // how JSON records store the value

	when   condition
	index  []int
	goType reflect.Type
	owner  reflect.Type // the struct that it was read from
}

// Set parses text and stores the value in v, a pointer to the field's struct. The words
// of a list are separated by commas or newlines; a word that contains one of these is
// quoted as in CSV, and "[]" is the empty list. Empty text unsets the field; for a number whose
// default is not 0, it is invalid. An invalid value is a Usage fault and leaves v unchanged.
func (f Field) Set(v any, text string) error {
	target, err := f.target(v)
	if err != nil {
		return err
	}
	return f.store(target, text)
}

// Text returns the field's value in v in the syntax of Set: "" if it is not set, dots
// for a secret.
func (f Field) Text(v any) string {
	target, err := f.target(v)
	if err != nil {
		return ""
	}
	return f.text(target)
}

// Show returns the field's value in v as users read it: like Text, but 0 as what it means,
// and money with its unit.
func (f Field) Show(v any) string {
	text := f.Text(v)
	switch {
	case text == "" || text == Auto:
		return text
	case f.Zero != "" && text == f.number(0):
		return f.Zero
	case f.Type == Money:
		return "$" + text
	}
	return text
}

// zeroIsNone reports whether 0 is the tightest value, and not no limit.
func (f Field) zeroIsNone() bool { return f.Zero == "none" }

// FlagText is like Text, but is "false" for a switch that is off, as flags need it.
func (f Field) FlagText(v any) string {
	if text := f.Text(v); text != "" || f.Type != Bool {
		return text
	}
	return "false"
}

// Lines is like Text, but puts each word of a list on its own line.
func (f Field) Lines(v any) string {
	target, err := f.target(v)
	if err != nil {
		return ""
	}
	if words, ok := target.Interface().([]string); ok {
		return joinWords(words, "\n")
	}
	return f.text(target)
}

// target returns the settable field in v.
func (f Field) target(v any) (reflect.Value, error) {
	value := reflect.ValueOf(v)
	if value.Kind() != reflect.Pointer || value.IsNil() || value.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, fmt.Errorf("spec: option %q needs a pointer to a struct, not %T", f.Key, v)
	}
	structure := value.Elem()
	if structure.Type() != f.owner { // FieldByName is slow, and screens read every field at every key
		if member, ok := structure.Type().FieldByName(f.Name); !ok || !slices.Equal(member.Index, f.index) {
			return reflect.Value{}, fmt.Errorf("spec: %T has no field %s", v, f.Name)
		}
	}
	return structure.FieldByIndex(f.index), nil
}

// Find returns the field with the key, or a Usage fault that suggests the closest one.
func Find(fields []Field, key string) (Field, error) {
	known := make([]string, 0, len(fields))
	for _, field := range fields {
		if field.Key == key {
			return field, nil
		}
		known = append(known, field.Key)
	}
	unknown := fault.New(fault.Usage, "there is no option %q", key)
	if near := spelling.Nearest(key, known); near != "" {
		return Field{}, unknown.Hint("did you mean %q?", near)
	}
	if len(known) == 0 {
		return Field{}, unknown.Hint("this agent has no options")
	}
	return Field{}, unknown.Hint("its options are %s", strings.Join(known, ", "))
}
