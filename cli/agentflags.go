package cli

import (
	"strconv"
	"strings"

	"aibox/agents/spec"

	"github.com/spf13/pflag"
)

// declare makes a flag of an option in options.
func declare(flags *pflag.FlagSet, field spec.Field, options any) {
	help := field.Help
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
	flags.String(field.Key, value, help)
}
