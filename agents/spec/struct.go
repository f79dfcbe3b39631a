package spec

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/lazyregexp"
)

// Definition is an option that is defined in a file instead of a Go struct.
type Definition struct {
	Key  string            // the name that the user types: lower-case words joined by dashes
	Type string            // a type's name, such as "string" or "choices"; empty means string
	Tags map[string]string // the keys of a tag, except secret and type, which follow from Type
}

// definedKey matches the keys that can be converted to a Go field name and back.
var definedKey = lazyregexp.New(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// Struct builds a struct from definitions, with every option at its default, and returns
// a pointer to it. All functions of this package treat it like a struct written in Go.
// Errors name the option and the tag key.
func Struct(defs []Definition) (any, error) {
	var members []reflect.StructField
	seen := map[string]bool{}
	for _, def := range defs {
		if !definedKey.MatchString(def.Key) {
			return nil, fmt.Errorf("option %q: a key is lower-case words joined by dashes", def.Key)
		}
		if seen[def.Key] {
			return nil, fmt.Errorf("option %q is defined twice", def.Key)
		}
		seen[def.Key] = true
		member, err := def.member()
		if err != nil {
			return nil, fmt.Errorf("option %q: %w", def.Key, err)
		}
		members = append(members, member)
	}
	v := reflect.New(reflect.StructOf(members)).Interface()
	if _, err := Of(v); err != nil {
		return nil, err
	}
	return v, Defaults(v)
}

// member returns the Go field: "max-turns" becomes Max_turns, which kebab converts back.
func (d Definition) member() (reflect.StructField, error) {
	kind := String
	if d.Type != "" {
		if err := kind.UnmarshalText([]byte(d.Type)); err != nil {
			return reflect.StructField{}, err
		}
	}
	tag, err := d.tag(kind)
	name := strings.ToUpper(d.Key[:1]) + strings.ReplaceAll(d.Key[1:], "-", "_")
	return reflect.StructField{Name: name, Type: goTypeOf(kind), Tag: reflect.StructTag(tag)}, err
}

// tag returns the struct tag, so that one parser validates both kinds of options.
func (d Definition) tag(kind Type) (string, error) {
	var tag strings.Builder
	for _, key := range slices.Sorted(maps.Keys(d.Tags)) {
		if !slices.Contains(keys, key) {
			return "", unknownWord("tag key", key, keys)
		}
		if key == "secret" || key == "type" {
			return "", fmt.Errorf("tag key %q follows from the option's type", key)
		}
		fmt.Fprintf(&tag, "%s:%s ", key, strconv.Quote(d.Tags[key]))
	}
	_, choices := d.Tags["choices"]
	switch {
	case (kind == Choice || kind == Choices) != choices:
		return "", fmt.Errorf("tag key \"choices\" belongs to the types choice and choices, and each of them needs it")
	case kind == Secret:
		tag.WriteString(`secret:"true"`)
	case kind == Text || kind == Path || kind == Model:
		fmt.Fprintf(&tag, "type:%q", kind)
	}
	return tag.String(), nil
}
