package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/secret"
	"aibox/internal/spelling"
)

// store parses text into target.
func (f Field) store(target reflect.Value, text string) error {
	switch {
	case text == "":
		return f.storeEmpty(target)
	case f.Type.words():
		words, err := f.splitWords(text)
		if err != nil {
			return err
		}
		return f.storeWords(target, words)
	case f.Type == Bool:
		on, err := strconv.ParseBool(text)
		if err != nil {
			return f.wrong("true or false", text)
		}
		target.SetBool(on)
		return nil
	case f.Auto != "" && text == Auto:
		target.SetInt(autoNumber)
		return nil
	case f.Zero != "" && text == f.Zero:
		target.SetInt(0)
		return nil
	case f.Type.number():
		n, err := f.Type.parse(text)
		if err != nil {
			return f.wrong(f.Type.form(), text)
		}
		return f.storeNumber(target, n)
	default:
		return f.storeText(target, text)
	}
}

// storeEmpty unsets the field. It refuses a field that would then have the number 0, which can mean no
// limit: the empty text may come from a variable of a shell that is not set.
func (f Field) storeEmpty(target reflect.Value) error {
	zero := reflect.New(target.Type()).Elem()
	if f.Type.number() && !f.unset(zero) && !f.isZero(f.Default) {
		given := fault.New(fault.Usage, "option %q needs a value", f.Key)
		if f.Zero != "" {
			given = given.Hint("0 means %s", f.Zero)
		}
		return given.Hint("leave it out for its default, %s", f.Default)
	}
	target.SetZero()
	return nil
}

// isZero reports whether a text is the number 0.
func (f Field) isZero(text string) bool {
	n, err := f.Type.parse(text)
	return err == nil && n == 0
}

// storeText stores a text that needs no parsing. Its errors contain no part of a secret.
func (f Field) storeText(target reflect.Value, text string) error {
	switch {
	case strings.ContainsRune(text, 0):
		return fault.New(fault.Usage, "option %q contains a NUL byte", f.Key).Hint("give it as plain text")
	case f.Type.line() && strings.ContainsAny(text, "\r\n"):
		return fault.New(fault.Usage, "option %q must be a single line", f.Key)
	case f.Type == Choice && !slices.Contains(f.Choices, text):
		return f.badChoice(text)
	case f.Type == Secret:
		target.Set(reflect.ValueOf(secret.New(text)))
	default:
		target.SetString(text)
	}
	return nil
}

func (f Field) storeNumber(target reflect.Value, n int64) error {
	if !f.within(n) {
		given := f
		given.Auto = "" // n is a number, not the word
		return fault.New(fault.Usage, "option %q must be %s, not %s", f.Key, f.Bounds(), given.number(n))
	}
	target.SetInt(n)
	return nil
}

// storeWords stores words, each choice once. It distinguishes nil from empty.
func (f Field) storeWords(target reflect.Value, words []string) error {
	for _, word := range words {
		if f.Type == Choices && !slices.Contains(f.Choices, word) {
			return f.badChoice(word)
		}
		if looksLikeList(word) {
			return fault.New(fault.Usage, "option %q contains the single string %q, which looks like a list", f.Key, cut(word)).
				Hint(`write the list itself, without quotes around it: ["one", "two"]`)
		}
		if strings.ContainsRune(word, 0) {
			return fault.New(fault.Usage, "option %q contains a NUL byte", f.Key).Hint("give it as plain text")
		}
	}
	if f.Type == Choices {
		words = unique(words)
	}
	target.Set(reflect.ValueOf(words))
	return nil
}

func unique(words []string) []string {
	if words == nil {
		return nil
	}
	kept := make([]string, 0, len(words))
	for _, word := range words {
		if !slices.Contains(kept, word) {
			kept = append(kept, word)
		}
	}
	return kept
}

// within reports whether n is within the limits.
func (f Field) within(n int64) bool {
	return (f.Min == nil || n >= *f.Min) && (f.Max == nil || n <= *f.Max)
}

// Bounds describes the allowed numbers as part of a sentence: "a number from 1 to 9".
func (f Field) Bounds() string {
	noun := "a number"
	switch f.Type {
	case Duration:
		noun = "a length of time"
	case Money:
		noun = "an amount"
	case Size:
		noun = "a size"
	}
	switch {
	case f.Auto != "" && f.Min != nil && f.Max != nil:
		return fmt.Sprintf("%s, or %s from %s to %s", Auto, noun, f.number(*f.Min), f.number(*f.Max))
	case f.Min != nil && f.Max != nil:
		return fmt.Sprintf("%s from %s to %s", noun, f.number(*f.Min), f.number(*f.Max))
	case f.Min != nil:
		return fmt.Sprintf("%s of at least %s", noun, f.number(*f.Min))
	case f.Max != nil:
		return fmt.Sprintf("%s of at most %s", noun, f.number(*f.Max))
	default:
		return noun
	}
}

// number formats n for the option's type.
func (f Field) number(n int64) string {
	if f.Auto != "" && n == autoNumber {
		return Auto
	}
	switch f.Type {
	case Size:
		return amount.MiB(n).String()
	case Duration:
		return amount.Span(time.Duration(n))
	case Money:
		return amount.USD(n).String()
	case Decimal:
		return amount.Decimal(n).String()
	}
	return strconv.FormatInt(n, 10)
}

func (f Field) wrong(want, text string) error {
	return fault.New(fault.Usage, "option %q must be %s, not %q", f.Key, want, cut(text))
}

func (f Field) badChoice(text string) error {
	bad := fault.New(fault.Usage, "option %q cannot be %q; choose one of %s", f.Key, cut(text), strings.Join(f.Choices, ", "))
	if near := spelling.Nearest(text, f.Choices); near != "" {
		bad = bad.Hint("did you mean --set %s=%s?", f.Key, near)
	}
	return bad
}

// cut shortens a value for an error message.
func cut(text string) string {
	const most = 60
	if runes := []rune(text[:min(len(text), 4*most)]); len(runes) > most || len(text) > 4*most {
		return string(runes[:min(len(runes), most)]) + "…"
	}
	return text
}
