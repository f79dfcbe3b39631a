package spec

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"aibox/internal/amount"
	"aibox/internal/secret"
)

var goTypes = map[reflect.Type]Type{
	reflect.TypeFor[string]():          String,
	reflect.TypeFor[bool]():            Bool,
	reflect.TypeFor[int]():             Int,
	reflect.TypeFor[amount.MiB]():      Size,
	reflect.TypeFor[amount.USD]():      Money,
	reflect.TypeFor[amount.Decimal]():  Decimal,
	reflect.TypeFor[time.Duration]():   Duration,
	reflect.TypeFor[amount.Duration](): Duration,
	reflect.TypeFor[[]string]():        List,
	reflect.TypeFor[secret.Value]():    Secret,
}

// goTypeOf returns the Go type of an option that is defined in a file.
func goTypeOf(kind Type) reflect.Type {
	switch kind {
	case Bool:
		return reflect.TypeFor[bool]()
	case Int:
		return reflect.TypeFor[int]()
	case Size:
		return reflect.TypeFor[amount.MiB]()
	case Duration:
		return reflect.TypeFor[time.Duration]()
	case Money:
		return reflect.TypeFor[amount.USD]()
	case Decimal:
		return reflect.TypeFor[amount.Decimal]()
	case List, Choices:
		return reflect.TypeFor[[]string]()
	case Secret:
		return reflect.TypeFor[secret.Value]()
	default:
		return reflect.TypeFor[string]()
	}
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
