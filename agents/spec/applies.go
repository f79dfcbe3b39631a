package spec

import (
	"reflect"

	"aibox/internal/fault"
)

// Applies returns a Usage fault if field differs from its default in v but has no effect
// because of the other options. v is a pointer to the struct.
func Applies(v any, field Field) error {
	target, err := field.target(v)
	if err != nil || field.unset(target) || field.isDefault(target) || Visible(v, field) {
		return err
	}
	fields, err := Of(v)
	if err != nil {
		return err
	}
	without, hint := obstacle(v, fields, field)
	return fault.New(fault.Usage, "option %q has no effect %s", field.Key, without).
		Hint("%s", hint).
		Hint("or leave it out: --set %s=", field.Key)
}

// AppliesIn returns a Usage fault if field differs from its default in v but does not apply
// in this mode. v is a pointer to the struct.
func AppliesIn(v any, field Field, mode Mode) error {
	target, err := field.target(v)
	if err != nil || field.unset(target) || field.isDefault(target) || field.Mode.Includes(mode) {
		return err
	}
	if mode == Interactive {
		return fault.New(fault.Usage, "option %q has no effect with --interactive", field.Key).
			Hint("drop --interactive").
			Hint("or leave it out: --set %s=", field.Key)
	}
	return fault.New(fault.Usage, "option %q has no effect without --interactive", field.Key).
		Hint("add --interactive").
		Hint("or leave it out: --set %s=", field.Key)
}

// isDefault reports whether the option has its default value.
func (f Field) isDefault(target reflect.Value) bool {
	scratch := reflect.New(f.goType).Elem()
	return f.store(scratch, f.Default) == nil && f.text(scratch) == f.text(target) && f.Type != Secret
}

// obstacle follows the dependencies of field to the first condition that does not hold.
// It returns that condition as the end of a sentence, and a hint.
func obstacle(v any, fields []Field, field Field) (without, hint string) {
	other, ok := byKey(fields, field.when.key)
	if visibility, custom := v.(interface{ Visible(key string) bool }); !ok || custom && !visibility.Visible(field.Key) {
		return "with the other options you gave", "`aibox agents show` lists which options depend on each other"
	}
	target, err := other.target(v)
	if err != nil || field.when.holds(other, target) {
		return obstacle(v, fields, other)
	}
	c := field.when
	switch {
	case c.value == "" && other.Type == Bool:
		return "without " + c.key, "set it too: --set " + c.key + "=true"
	case c.value == "":
		return "without " + c.key, "set it too: --set " + c.key + "=…"
	case c.not:
		return "with " + c.key + "=" + c.value, "change its value: --set " + c.key + "=…"
	default:
		return "without " + c.key + "=" + c.value, "set it too: --set " + c.key + "=" + c.value
	}
}
