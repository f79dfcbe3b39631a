package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode"

	"aibox/internal/lazyregexp"
)

var envName = lazyregexp.New(`^[A-Z_][A-Z0-9_]*$`)

// fieldsOf caches the fields of valid types, which forms and lists request all the time.
var fieldsOf sync.Map // reflect.Type → []Field

// Of returns the options of v, a struct or a pointer to one, in declaration order.
// Unexported fields are not options. Errors are programming errors; they name the struct,
// the field and the tag key. The caller owns the slice; the slices inside a field are
// shared and must not be changed. Of is safe for concurrent use.
func Of(v any) ([]Field, error) {
	fields, err := load(v)
	return slices.Clone(fields), err
}

// Lookup returns the option of v with the key, without a copy of the others. It reports
// false if there is none, or if Of returns an error.
func Lookup(v any, key string) (Field, bool) {
	fields, _ := load(v)
	i := slices.IndexFunc(fields, func(field Field) bool { return field.Key == key })
	if i < 0 {
		return Field{}, false
	}
	return fields[i], true
}

// load returns the fields that Of describes. They are shared and must not be changed.
func load(v any) ([]Field, error) {
	structure := reflect.TypeOf(v)
	if structure != nil && structure.Kind() == reflect.Pointer {
		structure = structure.Elem()
	}
	if structure == nil || structure.Kind() != reflect.Struct {
		return nil, fmt.Errorf("spec: %T is not a struct", v)
	}
	if known, ok := fieldsOf.Load(structure); ok {
		fields, _ := known.([]Field)
		return fields, nil
	}
	fields, err := readAll(structure)
	if err != nil {
		return nil, err
	}
	fieldsOf.Store(structure, fields)
	return fields, nil
}

func readAll(structure reflect.Type) ([]Field, error) {
	var fields []Field
	taken := map[string]string{}
	for _, member := range members(structure) {
		field, err := read(member)
		if err == nil {
			err = claimNames(taken, field)
		}
		if err != nil {
			return nil, locate(structure, field, err)
		}
		field.owner = structure
		fields = append(fields, field)
	}
	if field, err := link(fields); err != nil {
		return nil, locate(structure, field, err)
	}
	return fields, nil
}

// members returns the exported fields of structure and its embedded structs, each with
// its path from structure as its index.
func members(structure reflect.Type) []reflect.StructField {
	var all []reflect.StructField
	for i := range structure.NumField() {
		member := structure.Field(i)
		switch {
		case member.Anonymous && member.Type.Kind() == reflect.Struct:
			for _, inner := range members(member.Type) {
				inner.Index = append(slices.Clone(member.Index), inner.Index...)
				all = append(all, inner)
			}
		case member.IsExported():
			all = append(all, member)
		}
	}
	return all
}

// locate adds the struct and field to err, or the option's key for a struct from Struct,
// which has no name.
func locate(structure reflect.Type, field Field, err error) error {
	if structure.Name() == "" {
		return fmt.Errorf("option %q: %w", field.Key, err)
	}
	return fmt.Errorf("spec: %s.%s: %w", structure.Name(), field.Name, err)
}

// Defaults sets every field of v to its default. v is a pointer to the struct.
func Defaults(v any) error {
	fields, err := load(v)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if err := field.Set(v, field.Default); err != nil {
			return err
		}
	}
	return nil
}

// claimNames rejects a second option with the same key, flag or variable.
func claimNames(taken map[string]string, field Field) error {
	for _, claimed := range [][2]string{{"key", field.Key}, {"flag", strings.Join(field.Flag, " ")}, {"env", field.Env}} {
		kind, name := claimed[0], claimed[1]
		if name == "" {
			continue
		}
		if other, ok := taken[kind+name]; ok {
			return fmt.Errorf("tag key %q: %q is taken by %s", kind, name, other)
		}
		taken[kind+name] = field.Name
	}
	return nil
}

func read(member reflect.StructField) (Field, error) {
	field := Field{Name: member.Name, Key: kebab(member.Name), index: member.Index, goType: member.Type}
	tags, err := parseTag(string(member.Tag))
	if err != nil {
		return field, err
	}
	for _, key := range []string{"label", "help"} {
		if tags[key] == "" {
			return field, fmt.Errorf("tag key %q is missing", key)
		}
	}
	field.Label, field.Help, field.Group = tags["label"], tags["help"], tags["group"]
	field.Env, field.Default, field.When = tags["env"], tags["default"], tags["when"]
	field.Placeholder, field.Auto, field.Record = tags["placeholder"], tags["auto"], recordOf(member)
	if field.Zero = tags["zero"]; field.Zero != "" {
		field.Help += "; 0 for " + field.Zero
	}
	field.Flag, field.Choices = strings.Fields(tags["flag"]), strings.Fields(tags["choices"])
	if field.Type, err = typeOf(member.Type, tags); err != nil {
		return field, err
	}
	for _, step := range []func(map[string]string) error{field.readBounds, field.readWords, field.check} {
		if err := step(tags); err != nil {
			return field, err
		}
	}
	return field, nil
}

// readWords reads the keys whose values are from closed lists.
func (f *Field) readWords(tags map[string]string) (err error) {
	if text, ok := tags["mode"]; ok {
		if err := f.Mode.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("tag key \"mode\": %w", err)
		}
	}
	if text, ok := tags["scope"]; ok {
		if err := f.Scope.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("tag key \"scope\": %w", err)
		}
	}
	if text, ok := tags["inherit"]; ok {
		if err := f.Inherit.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("tag key \"inherit\": %w", err)
		}
	}
	if f.When != "" {
		f.when, err = parseWhen(f.When)
	}
	return err
}

func (f *Field) readBounds(tags map[string]string) error {
	for _, key := range []string{"min", "max"} {
		text, ok := tags[key]
		if !ok {
			continue
		}
		n, err := f.Type.parse(text)
		if err != nil {
			return fmt.Errorf("tag key %q: %q is no bound of a %s", key, text, f.Type)
		}
		if key == "min" {
			f.Min = &n
		} else {
			f.Max = &n
		}
	}
	if f.Min != nil && f.Max != nil && *f.Min > *f.Max {
		return fmt.Errorf("tag key \"min\": %s is above max %s", tags["min"], tags["max"])
	}
	return nil
}

// check validates the combination of keys.
func (f *Field) check(tags map[string]string) error {
	ordered := f.Type == Bool || f.Type == Choice || f.Type.number() || f.Type.words()
	switch {
	case strings.HasSuffix(f.Help, "."):
		return fmt.Errorf("tag key \"help\" ends in a full stop")
	case f.Env != "" && !envName.MatchString(f.Env):
		return fmt.Errorf("tag key \"env\": %q is not a variable name", f.Env)
	case len(f.Flag) > 0 && !strings.HasPrefix(f.Flag[0], "-"):
		return fmt.Errorf("tag key \"flag\": %q does not begin with a dash", f.Flag[0])
	case f.Type == Bool && strings.HasSuffix(tags["flag"], "="):
		return fmt.Errorf("tag key \"flag\": a switch has no value to follow %q", tags["flag"])
	case f.Auto != "" && (!f.Type.number() || f.within(autoNumber)):
		return fmt.Errorf("tag key \"auto\" belongs to numbers from a min of 0 or more")
	case f.Zero != "" && (!f.Type.number() || !f.within(0)):
		return fmt.Errorf("tag key \"zero\" belongs to numbers that can be 0")
	case f.zeroIsNone() && f.Scope != AtMost:
		return fmt.Errorf("tag key \"zero\" is \"none\" only with the scope at-most")
	case f.Type == Secret && len(f.Flag) > 0:
		return fmt.Errorf("tag key \"flag\": a secret never goes into an argument list")
	case f.Type == Secret && f.Default != "":
		return fmt.Errorf("tag key \"default\": a secret has none")
	case f.Type == Secret && f.Scope != User:
		return fmt.Errorf("tag key \"scope\": only the user sets a secret")
	case (f.Scope == AtMost || f.Scope == AtLeast) && !ordered:
		return fmt.Errorf("tag key \"scope\": a %s has no order for %s", f.Type, f.Scope)
	case len(unique(f.Choices)) != len(f.Choices):
		return fmt.Errorf("tag key \"choices\" names one twice")
	}
	if err := f.store(reflect.New(f.goType).Elem(), f.Default); err != nil {
		return fmt.Errorf("tag key \"default\": %w", err)
	}
	return nil
}

// kebab turns ReasoningEffort into reasoning-effort, OutputJSON into output-json,
// ApproveMCPs into approve-mcps and Max_turns into max-turns.
func kebab(name string) string {
	var out strings.Builder
	runes := []rune(name)
	for i, r := range runes {
		startsWord := i > 0 && unicode.IsUpper(r) &&
			(unicode.IsLower(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]) && !plural(runes, i+1))
		if startsWord && runes[i-1] != '_' {
			out.WriteByte('-')
		}
		if r == '_' {
			r = '-'
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}

// plural reports whether the s at i makes an acronym plural, as in URLs.
func plural(runes []rune, i int) bool {
	return runes[i] == 's' && (i+1 == len(runes) || !unicode.IsLower(runes[i+1]))
}
