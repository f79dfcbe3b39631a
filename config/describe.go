package config

import (
	"fmt"
	"strings"
	"time"

	"aibox/agents/spec"
	"aibox/internal/amount"
	"aibox/internal/paths"
	"aibox/internal/termtext"
)

// Section returns the table of the setting: "images", "agents.codex", and "" for the top of
// a file.
func (s Setting) Section() string { return s.section.name }

// Default returns the built-in value as users read it, "" when nothing is built in.
func (s Setting) Default() string {
	return Setting{Value: s.Field.Value(s.section.defaults), Field: s.Field, section: s.section}.Show()
}

// Takes describes the valid values for users.
func (s Setting) Takes() string {
	switch s.Field.Type {
	case spec.Choice:
		return strings.Join(s.Field.Choices, ", ")
	case spec.Choices:
		return "any of " + strings.Join(s.Field.Choices, ", ") + ", separated by commas"
	case spec.Bool:
		return "true or false"
	case spec.Int:
		return s.auto() + "a whole number" + s.bounds(func(n int64) string { return fmt.Sprint(n) })
	case spec.Size:
		return s.auto() + "a size, such as 512MiB or 4GiB" + s.bounds(func(n int64) string { return amount.MiB(n).String() })
	case spec.Duration:
		return "a duration, such as 90s, 20m, 2h or 30d" + s.bounds(func(n int64) string { return amount.Span(time.Duration(n)) })
	case spec.Decimal:
		return s.auto() + "a number such as 2 or 1.5" + s.bounds(func(n int64) string { return amount.Decimal(n).String() })
	case spec.Money:
		return "US dollars, such as 5 or 2.50"
	case spec.List:
		if s.Field.Placeholder != "" {
			return s.Field.Placeholder + "; several separated by commas, or a list such as [\"one\", \"two\"]"
		}
		return "comma-separated values, or a list such as [\"one\", \"two\"]"
	case spec.Path:
		return "a file or a folder"
	case spec.Model:
		return "the name of a model"
	case spec.Secret:
		return "no value in a file: set it as an environment variable"
	default:
		return "text"
	}
}

// auto describes the word auto if the setting takes it.
func (s Setting) auto() string {
	if s.Field.Auto == "" {
		return ""
	}
	return spec.Auto + " (" + s.Field.Auto + "), or "
}

// bounds describes the range of a number; "" if any positive number is valid.
func (s Setting) bounds(text func(int64) string) string {
	low, high := s.Field.Min, s.Field.Max
	switch {
	case low != nil && high != nil:
		return fmt.Sprintf(", from %s to %s", text(*low), text(*high))
	case low != nil && *low != 0:
		return ", at least " + text(*low)
	case high != nil:
		return ", at most " + text(*high)
	default:
		return ""
	}
}

// Origin describes for users where the value came from. It is escaped.
func (s Setting) Origin() string {
	names := make([]string, len(s.From))
	for i, source := range s.From {
		names[i] = termtext.Escape(paths.Short(source.String()))
	}
	return strings.Join(names, ", ")
}
