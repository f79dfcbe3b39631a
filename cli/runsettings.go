package cli

import (
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/app"
	"aibox/config"

	"github.com/spf13/cobra"
)

// settingFlag is the flag of a run's setting. It reads its value as the settings do.
type settingFlag struct {
	field spec.Field
	run   *config.Run
	texts []string // what was given, one text for each time
}

// bindSettings declares a flag for each setting of a run, at its built-in value.
func (o *runOptions) bindSettings(a *cli, cmd *cobra.Command) {
	o.Run = config.Defaults().Run
	for _, field := range runFields() {
		flag := cmd.PersistentFlags().VarPF(&settingFlag{field: field, run: &o.Run}, field.Key, "", settingHelp(field))
		if field.Type == spec.Bool {
			flag.NoOptDefVal = "true"
		}
		if complete := a.completeSetting(field); complete != nil {
			_ = cmd.RegisterFlagCompletionFunc(field.Key, complete)
		}
	}
}

// runFields are the settings of a run.
func runFields() []spec.Field {
	fields, _ := spec.Of(config.Run{}) // a test makes sure that the tags can be read
	return fields
}

// settingHelp is the help of a setting's flag.
func settingHelp(field spec.Field) string {
	help := strings.ToLower(field.Help[:1]) + field.Help[1:]
	switch field.Type {
	case spec.Choice, spec.Choices:
		help += " (" + strings.Join(field.Choices, ", ") + ")"
	case spec.List:
		if field.Key == "env" {
			help += "; NAME=VALUE gives one another value (repeat it for several)"
		} else {
			help += " (repeat it, or put commas between several)"
		}
	}
	return help
}

// completeSetting completes the value of a setting; nil where nothing is known.
func (a *cli) completeSetting(field spec.Field) func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(field.Choices) > 0:
		return fixed(field.Choices...)
	case field.Type == spec.Model:
		return a.completeModels
	case field.Key == "inference":
		return fixed(app.InferenceNames()...)
	case field.Key == "system":
		return a.completePrompts
	}
	return nil
}

// String is the value, for the default in the help.
func (f *settingFlag) String() string { return f.field.Text(f.run) }

// Set reads one text. A list grows with each.
func (f *settingFlag) Set(text string) error {
	if f.field.Type != spec.List && f.field.Type != spec.Choices {
		f.texts = []string{text}
		return f.field.Set(f.run, text)
	}
	words, _ := f.field.Value(f.run).([]string)
	if f.texts == nil {
		words = nil
	}
	scratch := new(config.Run)
	var err error
	if f.field.Key == "env" { // a value may hold commas
		err = f.field.Decode(scratch, []string{text})
	} else {
		err = f.field.Set(scratch, text)
	}
	if err != nil {
		return err
	}
	more, _ := f.field.Value(scratch).([]string)
	f.texts = append(f.texts, text)
	return f.field.Decode(f.run, slices.Concat([]string{}, words, more))
}

// Type is what the help calls the value.
func (f *settingFlag) Type() string {
	switch {
	case f.field.Placeholder != "":
		return f.field.Placeholder
	case f.field.Type == spec.Int:
		return "number"
	default:
		return f.field.Type.String()
	}
}

// overrides are the settings that the command line or the resumed session gives. The
// variables of the environment are joined in resolveDefaults.
func (o *runOptions) overrides() []config.Override {
	var given []config.Override
	for _, field := range runFields() {
		inherited := o.resumes != "" && field.Inherit == spec.Always
		if field.Key != "env" && (inherited || o.given(field.Key)) {
			given = append(given, config.Override{Key: field.Key, Name: "--" + field.Key, Value: field.Value(&o.Run)})
		}
	}
	return given
}

// isInherited reports whether a resumed session keeps the setting.
func isInherited(key string) bool {
	field, err := spec.Find(runFields(), key)
	return err == nil && field.Inherit == spec.Always
}
