package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strconv"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/secret"
)

// Value returns the field's value in v as a TOML or JSON decoder would: a string, bool,
// int64 or []string, a duration as a string, or nil if it is not set. A bool is always
// set. A number of 0 is set if the default is another number. An empty list that is set
// is []string{}. A secret is dots. The caller owns the slice.
func (f Field) Value(v any) any {
	target, err := f.target(v)
	if err != nil {
		return nil
	}
	return f.value(target)
}

// Secret returns the value of a secret in v. It is empty if the secret is not set or the
// field is not a secret.
func (f Field) Secret(v any) secret.Value {
	target, err := f.target(v)
	if err != nil {
		return secret.Value{}
	}
	value, _ := target.Interface().(secret.Value)
	return value
}

func (f Field) value(target reflect.Value) any {
	if f.Type != Bool && f.unset(target) {
		return nil
	}
	switch value := target.Interface().(type) {
	case bool:
		return value
	case []string:
		return append([]string{}, value...)
	case secret.Value:
		return value.String()
	}
	switch f.Type {
	case Int, Size:
		if n := target.Int(); f.Auto == "" || n != autoNumber {
			return n
		}
		return Auto
	case Duration, Money, Decimal:
		return f.number(target.Int())
	default:
		return target.String()
	}
}

// Decode stores in v a value from a TOML or JSON decoder: a string, bool, int64 (or int),
// float64 without a fraction, json.Number, []any or []string of strings. A number can also be a
// string as Set takes it; a duration is such a string or 0, a size of no string is in mebibytes. nil
// unsets. An invalid value is a Usage fault and leaves v unchanged.
func (f Field) Decode(v, value any) error {
	target, err := f.target(v)
	if err != nil {
		return err
	}
	if value == nil {
		target.SetZero()
		return nil
	}
	switch {
	case f.Type.words():
		words, ok := wordsOf(value)
		if !ok {
			return f.wrongType(`a list of words such as ["one", "two"]`, value)
		}
		return f.storeWords(target, words)
	case f.Type == Bool:
		on, ok := value.(bool)
		if !ok {
			return f.wrongType("true or false", value)
		}
		target.SetBool(on)
		return nil
	case f.Auto != "" && value == Auto:
		target.SetInt(autoNumber)
		return nil
	case f.Type == Int || f.Type == Size:
		if n, ok := wholeNumber(value); ok {
			return f.storeNumber(target, n)
		}
	case f.Type == Duration:
		if n, ok := wholeNumber(value); ok && n == 0 {
			return f.storeNumber(target, 0)
		}
	}
	if dollars, ok := number(value); ok && f.Type == Money {
		m, err := amount.USDOf(dollars)
		if err != nil {
			return f.wrongType(f.Type.form(), value)
		}
		return f.storeNumber(target, int64(m))
	}
	if n, ok := number(value); ok && f.Type == Decimal {
		d, err := amount.DecimalOf(n)
		if err != nil {
			return f.wrongType(f.Type.form(), value)
		}
		return f.storeNumber(target, int64(d))
	}
	text, ok := value.(string)
	switch {
	case ok && text == "" && f.Type != Int: // which is never left empty
		return f.storeEmpty(target)
	case ok && text != "" && f.Type.number():
		return f.store(target, text)
	case ok && !f.Type.number():
		return f.storeText(target, text)
	case f.Type == Duration:
		return f.wrongType(`a duration such as "90s" or "1h30m"`, value)
	case f.Type.number():
		return f.wrongType(f.Type.form(), value)
	default:
		return f.wrongType("text in quotes", value)
	}
}

// unset reports whether the field is not set. A zero counts as set if the default is
// another value.
func (f Field) unset(target reflect.Value) bool {
	if !target.IsZero() {
		return false
	}
	switch f.Type {
	case Bool:
		on, _ := strconv.ParseBool(f.Default)
		return !on
	case Int, Size, Duration, Money, Decimal:
		return f.Default == "" || !f.within(0)
	default:
		return true
	}
}

// text returns the result of Text.
func (f Field) text(target reflect.Value) string {
	if f.unset(target) {
		return ""
	}
	switch value := target.Interface().(type) {
	case []string:
		return joinWords(value, ",")
	case bool, string, secret.Value:
		return fmt.Sprint(value)
	default:
		return f.number(target.Int())
	}
}

func wordsOf(value any) ([]string, bool) {
	switch value := value.(type) {
	case []string:
		return append([]string{}, value...), true
	case []any:
		words := make([]string, 0, len(value))
		for _, each := range value {
			word, ok := each.(string)
			if !ok {
				return nil, false
			}
			words = append(words, word)
		}
		return words, true
	default:
		return nil, false
	}
}

// wholeNumber converts value to an int of this machine.
func wholeNumber(value any) (int64, bool) {
	switch value := value.(type) {
	case int:
		return int64(value), true
	case int64:
		return value, value >= math.MinInt && value <= math.MaxInt
	case float64:
		// 2^53 is the last number below which every whole number is a float64.
		return int64(value), value == math.Trunc(value) && math.Abs(value) <= 1<<53
	case json.Number:
		n, err := value.Int64()
		return n, err == nil && n >= math.MinInt && n <= math.MaxInt
	default:
		return 0, false
	}
}

// number converts value to a number.
func number(value any) (float64, bool) {
	switch value := value.(type) {
	case int:
		return float64(value), true
	case int64:
		return float64(value), true
	case float64:
		return value, !math.IsNaN(value) && !math.IsInf(value, 0)
	case json.Number:
		n, err := value.Float64()
		return n, err == nil
	default:
		return 0, false
	}
}

// wrongType never includes the value, which may be a misplaced secret.
func (f Field) wrongType(want string, value any) error {
	kind := "a value of another kind"
	switch value.(type) {
	case string:
		kind = "text"
	case bool:
		kind = "true or false"
	case int, int64, float64, json.Number:
		kind = "a number"
	case []any, []string:
		kind = "a list"
	case map[string]any:
		kind = "a table"
	}
	return fault.New(fault.Usage, "option %q must be %s, not %s", f.Key, want, kind)
}
