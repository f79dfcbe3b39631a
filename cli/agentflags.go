package cli

import (
	"strconv"
	"strings"

	"aibox/agents/spec"

	"github.com/spf13/pflag"
)

// declare makes a flag of an option in options.
func declare(flags *pflag.FlagSet, field spec.Field, options any) {
	help := flagHelp(field)
	switch {
	case field.Type == spec.List:
		help += " (comma-separated)"
	case len(field.Choices) > 0:
		help += " (" + strings.Join(field.Choices, ", ") + ")"
	}
	value := field.Text(options)
	if field.Type == spec.Bool {
		on, _ := strconv.ParseBool(value)
		flags.Bool(field.Key, on, help)
		return
	}
	flags.Var(&optionFlag{text: value, name: valueName(field)}, field.Key, help)
}

// optionFlag is the flag of an agent's option. It stores its value as text, which is checked
// with the whole request.
type optionFlag struct {
	text string
	name string // of the value, in the help
}

// String returns the value.
func (f *optionFlag) String() string { return f.text }

// Set stores a value.
func (f *optionFlag) Set(text string) error {
	f.text = text
	return nil
}

// Type returns what the help calls the value.
func (f *optionFlag) Type() string { return f.name }
