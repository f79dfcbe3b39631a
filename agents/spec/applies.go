package spec

import (
	"reflect"

	"aibox/internal/fault"
)

// Applies is a Usage fault when field has another value in v than its default, and
// would not reach the agent with the other options as they are. v is a pointer to the
// struct.
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

// isDefault reports whether the option has the value that it has if it is not set.
func (f Field) isDefault(target reflect.Value) bool {
	scratch := reflect.New(f.goType).Elem()
	return f.store(scratch, f.Default) == nil && f.text(scratch) == f.text(target) && f.Type != Secret
}

// obstacle is the first condition that does not hold, on the way from field over what it
// depends on: as the end of a sentence, and what to set instead.
func obstacle(v any, fields []Field, field Field) (without, hint string) {
	other, ok := byKey(fields, field.when.key)
	if judge, judges := v.(interface{ Visible(key string) bool }); !ok || judges && !judge.Visible(field.Key) {
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
