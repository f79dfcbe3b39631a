package spec

import (
	"strings"

	"aibox/internal/secret"
)

// Argv returns the options of v as arguments for the agent's command line: the flag's words and the
// value of every field that is not zero, is visible, has a flag and applies in mode. A bool is only
// its flag, a list repeats the flag, and a duration looks like 1h30m. v is a pointer to the struct.
func Argv(v any, mode Mode) ([]string, error) {
	var argv []string
	err := each(v, mode, func(field Field, values []string) {
		if len(field.Flag) == 0 {
			return
		}
		for _, value := range values {
			argv = append(argv, field.with(value)...)
		}
	})
	return argv, err
}

// Env returns the options of v as environment variables, NAME=VALUE: every field that is
// not zero, is visible, has a variable and applies in mode. Lists are joined with commas.
// The result contains secrets in clear text: use it only to start the agent.
func Env(v any, mode Mode) ([]string, error) {
	var env []string
	err := each(v, mode, func(field Field, values []string) {
		if field.Env != "" {
			env = append(env, field.Env+"="+strings.Join(values, ","))
		}
	})
	return env, err
}

// with returns the flag with one value.
func (f Field) with(value string) []string {
	last := len(f.Flag) - 1
	words := append([]string(nil), f.Flag...)
	switch {
	case f.Type == Bool:
	case strings.HasSuffix(words[last], "="):
		words[last] += value
	default:
		words = append(words, value)
	}
	return words
}

// each calls use with the values, in clear text, of every field that is not zero, is
// visible and applies in mode.
func each(v any, mode Mode, use func(Field, []string)) error {
	fields, err := Of(v)
	if err != nil {
		return err
	}
	for _, field := range fields {
		target, err := field.target(v)
		if err != nil {
			return err
		}
		if target.IsZero() || !field.Mode.Includes(mode) || !Visible(v, field) {
			continue
		}
		switch value := target.Interface().(type) {
		case []string:
			if len(value) > 0 {
				use(field, value)
			}
		case secret.Value:
			use(field, []string{value.Reveal()})
		default:
			use(field, []string{field.text(target)})
		}
	}
	return nil
}
