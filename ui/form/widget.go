package form

import (
	"strings"

	"aibox/agents/spec"

	"charm.land/huh/v2"
)

// unset is the choice of none.
const unset = "(not set)"

// newWidget returns huh's field for the type, bound to the answer.
func (a *answer) newWidget() huh.Field {
	field := a.field
	switch field.Type {
	case spec.Bool:
		return huh.NewConfirm().Title(field.Label).Description(a.help()).Affirmative("On").Negative("Off").
			WithButtonAlignment(0).Value(&a.on)
	case spec.Choice:
		return huh.NewSelect[string]().Title(field.Label).Description(a.help()).Options(a.options()...).Value(&a.text)
	case spec.Choices:
		return huh.NewMultiSelect[string]().Title(field.Label).Description(a.help()).Options(a.options()...).
			Filterable(true).Value(&a.words)
	case spec.Text, spec.List:
		return huh.NewText().Title(field.Label).Description(a.help()).ExternalEditor(false).
			CharLimit(0).ShowLineNumbers(false).Value(&a.text)
	default:
		input := huh.NewInput().Title(field.Label).Description(a.help()).Value(&a.text)
		if field.Type == spec.Secret {
			return input.EchoMode(huh.EchoModePassword)
		}
		return input.Placeholder(field.Default)
	}
}

// options are the choices. Without a default, the first one is none.
func (a *answer) options() []huh.Option[string] {
	var options []huh.Option[string]
	if a.field.Type == spec.Choice && (a.field.Default == "" || a.text == "") {
		options = append(options, huh.NewOption(unset, ""))
	}
	for _, choice := range safeWords(a.choices) {
		name := choice
		if choice == a.field.Default {
			name += " (default)"
		}
		options = append(options, huh.NewOption(name, choice))
	}
	return options
}

// help is the help of the field and of its type.
func (a *answer) help() string {
	parts := []string{a.field.Help}
	switch {
	case a.field.Type == spec.Secret && a.field.Text(a.snapshot) != "":
		parts = append(parts, "It is set; leave it empty to keep it")
	case a.field.Type == spec.List && a.plain:
		parts = append(parts, "Commas between them")
	case a.field.Type == spec.List:
		parts = append(parts, "One per line")
	case a.field.Min != nil || a.field.Max != nil:
		bounds := a.field.Bounds()
		parts = append(parts, strings.ToUpper(bounds[:1])+bounds[1:])
	case a.field.Type == spec.Duration:
		parts = append(parts, "Such as 90s or 1h30m")
	}
	return strings.Join(parts, ". ")
}
