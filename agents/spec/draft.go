package spec

import (
	"fmt"
	"reflect"
	"slices"

	"aibox/internal/fault"
)

// Clone returns a pointer to a deep copy of the struct that v points to, or nil if v is
// not a pointer to a struct.
func Clone(v any) any {
	value := reflect.ValueOf(v)
	if value.Kind() != reflect.Pointer || value.IsNil() || value.Elem().Kind() != reflect.Struct {
		return nil
	}
	clone := reflect.New(value.Elem().Type())
	clone.Elem().Set(value.Elem())
	separate(clone.Elem())
	return clone.Interface()
}

// Copy copies all options from one struct to another of the same type. Both arguments
// are pointers.
func Copy(to, from any) error {
	fields, err := Of(to)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if err := field.Copy(to, from); err != nil {
			return err
		}
	}
	return nil
}

// Copy copies one option. It also copies secrets, which Text and Set do not.
func (f Field) Copy(to, from any) error {
	if reflect.TypeOf(to) != reflect.TypeOf(from) {
		return fmt.Errorf("spec: %T cannot be copied to %T", from, to)
	}
	target, err := f.target(to)
	if err != nil {
		return err
	}
	source, err := f.target(Clone(from))
	if err != nil {
		return err
	}
	target.Set(source)
	return nil
}

// separate clones every exported list of structure.
func separate(structure reflect.Value) {
	for i := range structure.NumField() {
		field, member := structure.Field(i), structure.Type().Field(i)
		switch {
		case member.Anonymous && field.Kind() == reflect.Struct:
			separate(field)
		case member.IsExported() && field.Kind() == reflect.Slice:
			if list, ok := field.Interface().([]string); ok {
				field.Set(reflect.ValueOf(slices.Clone(list)))
			}
		}
	}
}

// Validate checks every option of v, a pointer to the struct, against its field and its
// choices, and then calls the struct's own Validate method. For an option that is not
// visible it ignores the struct's own choices. Invalid values are Usage faults.
func Validate(v any) error {
	fields, err := Of(v)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if err := Check(v, field); err != nil {
			return err
		}
	}
	validator, ok := v.(interface{ Validate() error })
	if !ok {
		return nil
	}
	if err = validator.Validate(); err != nil && fault.KindOf(err) != fault.Usage {
		return fault.New(fault.Usage, "%w", err)
	}
	return err
}

// Check validates one option by itself.
func Check(v any, field Field) error {
	target, err := field.target(v)
	if err != nil {
		return err
	}
	if field.unset(target) {
		return nil
	}
	scratch := reflect.New(target.Type()).Elem()
	switch {
	case field.Type == Secret, field.Type == Bool:
		return nil
	case field.Type.words():
		words, _ := target.Interface().([]string)
		err = field.storeWords(scratch, words)
	case field.Auto != "" && target.Int() == autoNumber:
		return nil
	case field.Type.number():
		err = field.storeNumber(scratch, target.Int())
	default:
		err = field.storeText(scratch, target.String())
	}
	if err != nil || field.Type != Choice && field.Type != Choices || !Visible(v, field) {
		return err
	}
	// The struct's own choices, which may be fewer than the tag's.
	field.Choices = ChoicesOf(v, field)
	for _, word := range chosenWords(target) {
		if !slices.Contains(field.Choices, word) {
			return field.badChoice(word)
		}
	}
	return nil
}

func chosenWords(target reflect.Value) []string {
	if words, ok := target.Interface().([]string); ok {
		return words
	}
	return []string{target.String()}
}

// ChoicesOf returns the choices for field in v: the result of the struct's own Choices
// method, or else the tag's choices. For a field of another type they are suggestions. It
// returns nil if there are none.
func ChoicesOf(v any, field Field) []string {
	if chooser, ok := v.(interface{ Choices(key string) []string }); ok {
		if choices := chooser.Choices(field.Key); choices != nil {
			return choices
		}
	}
	return field.Choices
}
