package cli

import (
	"strings"
	"sync"

	"aibox/agents/spec"
	"aibox/config"

	"github.com/spf13/cobra"
)

// settingFlag is the flag of a run's setting. It reads its value as the settings do.
type settingFlag struct {
	field     spec.Field
	overrides *config.RunOverrides
}

// bindSettings declares a flag for each setting of a run, which writes to overrides.
func (a *cli) bindSettings(cmd *cobra.Command, overrides *config.RunOverrides) {
	for _, field := range config.RunFields() {
		flag := cmd.PersistentFlags().VarPF(&settingFlag{field, overrides}, field.Key, "", settingHelp(field))
		if field.Type == spec.Bool {
			flag.NoOptDefVal = "true"
		}
		_ = cmd.RegisterFlagCompletionFunc(field.Key, a.complete.setting(field))
	}
}

// settingHelp is the help of a setting's flag.
func settingHelp(field spec.Field) string {
	help := flagHelp(field)
	if field.Auto != "" {
		help += "; " + spec.Auto + " is " + field.Auto
	}
	switch field.Type {
	case spec.Choice, spec.Choices:
		help += " (" + strings.Join(field.Choices, ", ") + ")"
	case spec.List:
		if field.Key == "env" {
			help += "; NAME=VALUE sets another value (repeatable)"
		} else {
			help += " (repeatable, or comma-separated)"
		}
	}
	return help
}

// String returns the value, or the built-in one, which the help shows.
func (f *settingFlag) String() string {
	if f.overrides.Has(f.field.Key) {
		return f.overrides.Text(f.field.Key)
	}
	return f.field.Text(builtIn())
}

// builtIn returns the built-in values of a run's settings. They are shared and must not be
// changed.
var builtIn = sync.OnceValue(func() *config.Run {
	run := config.Defaults().Run
	return &run
})

// Set reads one text. A list grows with each.
func (f *settingFlag) Set(text string) error { return f.overrides.Append(f.field.Key, text) }

// Type returns what the help calls the value.
func (f *settingFlag) Type() string { return valueName(f.field) }
