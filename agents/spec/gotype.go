package spec

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"aibox/internal/secret"
)

var goTypes = map[reflect.Type]Type{
	reflect.TypeFor[string]():        String,
	reflect.TypeFor[bool]():          Bool,
	reflect.TypeFor[int]():           Int,
	reflect.TypeFor[time.Duration](): Duration,
	reflect.TypeFor[[]string]():      List,
	reflect.TypeFor[secret.Value]():  Secret,
}

// goType is the Go type that holds the field's values.
func (f Field) goType() reflect.Type { return goTypeOf(f.Type) }

func goTypeOf(kind Type) reflect.Type {
	switch kind {
	case Text, Path, Model, Choice:
		kind = String
	case Choices:
		kind = List
	}
	for goType, known := range goTypes {
		if known == kind {
			return goType
		}
	}
	return nil
}

func typeOf(goType reflect.Type, tags map[string]string) (Type, error) {
	kind, ok := goTypes[goType]
	if !ok {
		return 0, fmt.Errorf("type %s is no option: string, bool, int, time.Duration, []string or secret.Value", goType)
	}
	_, choices := tags["choices"]
	_, marked := tags["secret"]
	named, refined := tags["type"]
	switch {
	case choices && kind != String && kind != List:
		return 0, fmt.Errorf("tag key \"choices\" belongs to strings, not to %s", goType)
	case marked != (kind == Secret) || marked && tags["secret"] != "true":
		return 0, fmt.Errorf("tag key \"secret\" is \"true\" on every secret.Value and on nothing else")
	case refined && !slices.Contains([]string{"text", "path", "model"}, named):
		return 0, fmt.Errorf("tag key \"type\": %w", unknownWord("type", named, []string{"text", "path", "model"}))
	case refined && (kind != String || choices):
		return 0, fmt.Errorf("tag key \"type\": %s belongs to a string without choices", named)
	case refined:
		return kind, kind.UnmarshalText([]byte(named))
	case choices && kind == List:
		return Choices, nil
	case choices:
		return Choice, nil
	}
	return kind, nil
}
