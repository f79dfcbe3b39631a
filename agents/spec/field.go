package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"aibox/internal/fault"
)

// Field is one option. It describes; the value stays in the struct.
type Field struct {
	Name    string   // the Go field, for errors to programmers
	Key     string   // what the user types: the name in kebab-case, "reasoning-effort"
	Label   string   // short, for forms
	Help    string   // one sentence
	Group   string   // heading in forms; empty means the main group
	Type    Type     // what values it takes
	Flag    []string // words of the agent's own command line; nil when it has none
	Env     string   // variable of the agent's environment; empty when it has none
	Default string   // as text, empty when the zero value is the default
	Choices []string // for Choice and Choices: every value allowed, from tight to loose
	Min     *int64   `json:",omitempty"` // for Int and Duration (nanoseconds); nil means no bound
	Max     *int64   `json:",omitempty"`
	Mode    Mode     // where the agent knows this option
	Scope   Scope    // whether a file in a repository may set it
	When    string   `json:",omitempty"` // the condition as in the tag; empty means always

	Placeholder string      `json:"-"` // what stands for the value in that flag's help
	Inherit     Inheritance `json:"-"` // which new session takes the value of an earlier one
	Record      Record      `json:"-"` // how JSON holds the value

	when   condition
	index  []int
	goType reflect.Type
}

// Set parses text and stores it in v, a pointer to the struct the field was read
// from. A list is replaced by the words of text, which commas or ends of lines
// part; a word that holds one of these is quoted as in CSV, and "[]" is the empty
// list. Empty text unsets any field. A mistake of the user comes back as a Usage
// fault, and v is as before.
func (f Field) Set(v any, text string) error {
	target, err := f.target(v)
	if err != nil {
		return err
	}
	return f.store(target, text)
}

// Text is the field's value in v as Set would take it: "" when it is not set, and
// dots for a secret.
func (f Field) Text(v any) string {
	target, err := f.target(v)
	if err != nil {
		return ""
	}
	return f.text(target)
}

// Lines is Text for an editor of several lines: each word of a list has its own.
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

// target is the settable field in v, or an error that says how v is wrong.
func (f Field) target(v any) (reflect.Value, error) {
	value := reflect.ValueOf(v)
	if value.Kind() != reflect.Pointer || value.IsNil() || value.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, fmt.Errorf("spec: option %q needs a pointer to a struct, not %T", f.Key, v)
	}
	structure := value.Elem()
	if member, ok := structure.Type().FieldByName(f.Name); !ok || !slices.Equal(member.Index, f.index) {
		return reflect.Value{}, fmt.Errorf("spec: %T has no field %s", v, f.Name)
	}
	return structure.FieldByIndex(f.index), nil
}

// Find is the field with the key, or a Usage fault that suggests the nearest one.
func Find(fields []Field, key string) (Field, error) {
	known := make([]string, 0, len(fields))
	for _, field := range fields {
		if field.Key == key {
			return field, nil
		}
		known = append(known, field.Key)
	}
	unknown := fault.New(fault.Usage, "there is no option %q", key)
	if near := Closest(key, known); near != "" {
		return Field{}, unknown.Hint("did you mean %q?", near)
	}
	if len(known) == 0 {
		return Field{}, unknown.Hint("this agent has no options")
	}
	return Field{}, unknown.Hint("its options are %s", strings.Join(known, ", "))
}
