package spec

import (
	"reflect"
	"regexp"
)

// Schema returns a JSON Schema (draft 2020-12) of the options of v, a struct or a pointer
// to one, as an object whose properties are the options' keys. It contains only values
// that encoding/json can encode, and no value of v. It is nil if Of returns an error.
func Schema(v any) map[string]any {
	fields, err := Of(v)
	if err != nil {
		return nil
	}
	properties := map[string]any{}
	for _, field := range fields {
		properties[field.Key] = field.schema()
	}
	return map[string]any{
		"$schema":              "https://json-schema.org/draft/2020-12/schema",
		"type":                 "object",
		"properties":           properties,
		"additionalProperties": false,
	}
}

func (f Field) schema() map[string]any {
	property := map[string]any{"title": f.Label, "description": f.Help}
	switch f.Type {
	case Bool:
		property["type"] = "boolean"
	case Int, Size:
		property["type"] = []string{"integer", "string"}
		if f.Type == Int {
			property["pattern"] = f.pattern(`[-+]?[0-9]+`)
		}
		if f.Min != nil {
			property["minimum"] = *f.Min
		}
		if f.Max != nil {
			property["maximum"] = *f.Max
		}
	case Duration:
		property["type"], property["pattern"] = "string", f.pattern(`[-+]?(0|[0-9]+d|([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+)`)
	case Money, Decimal:
		property["type"] = []string{"number", "string"}
	case List:
		property["type"], property["items"] = "array", map[string]any{"type": "string"}
	case Choices:
		property["type"], property["uniqueItems"] = "array", true
		property["items"] = map[string]any{"type": "string", "enum": f.Choices}
	case Choice:
		property["type"], property["enum"] = "string", f.Choices
	case Secret:
		property["type"], property["writeOnly"] = "string", true
	default:
		property["type"] = "string"
	}
	if value := f.defaultValue(); value != nil {
		property["default"] = value
	}
	return property
}

// pattern returns the pattern of the numbers of the form, and of the words in their place.
func (f Field) pattern(form string) string {
	if f.Auto != "" {
		form += "|" + Auto
	}
	if f.Zero != "" {
		form += "|" + regexp.QuoteMeta(f.Zero)
	}
	return "^(" + form + ")$"
}

// defaultValue returns the default in the form of Value, or nil.
func (f Field) defaultValue() any {
	if f.Default == "" || f.Type == Secret {
		return nil
	}
	target := reflect.New(f.goType).Elem()
	if err := f.store(target, f.Default); err != nil {
		return nil
	}
	return f.value(target)
}
