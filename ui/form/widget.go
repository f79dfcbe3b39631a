package form

import (
	"strings"

	"aibox/agents/spec"

	"charm.land/huh/v2"
)

// unset is the choice of none.
const unset = "(not set)"

// newWidget returns huh's field for the type, bound to the answer. In a Part the list and
// the details around it have its title and its help, and a list of choices is its own.
func (a *answer) newWidget() huh.Field {
	field, title, help := a.field, a.field.Label, a.help()
	if !a.plain {
		title, help = "", ""
	}
	switch field.Type {
	case spec.Bool:
		return huh.NewConfirm().Title(title).Description(help).Affirmative("On").Negative("Off").Value(&a.on)
	case spec.Choice:
		return huh.NewSelect[string]().Title(title).Description(help).Options(a.options()...).Value(&a.text)
	case spec.Choices:
		return huh.NewMultiSelect[string]().Title(title).Description(help).Options(a.options()...).Value(&a.words)
	case spec.Text, spec.List:
		return huh.NewText().Title(title).Description(help).ExternalEditor(false).
			CharLimit(0).ShowLineNumbers(false).Value(&a.text)
	default:
		input := huh.NewInput().Title(title).Description(help).Value(&a.text)
		if field.Type == spec.Secret {
			return input.EchoMode(huh.EchoModePassword)
		}
		return input.Placeholder(field.Default)
	}
}

// options are the choices as huh takes them.
func (a *answer) options() []huh.Option[string] {
	var options []huh.Option[string]
	for _, c := range a.listed() {
		options = append(options, huh.NewOption(c.name, c.value))
	}
	return options
}

// listed are the choices with their names. Without a default, the first one is none.
func (a *answer) listed() []choice {
	var all []choice
	if a.field.Type == spec.Choice && (a.field.Default == "" || a.text == "") {
		all = append(all, choice{"", unset})
	}
	for _, value := range safeWords(a.choices) {
		name := value
		if value == a.field.Default {
			name += " (default)"
		}
		all = append(all, choice{value, name})
	}
	return all
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
	case a.field.Type == spec.Duration && a.field.Max == nil && (a.field.Min == nil || *a.field.Min == 0):
		parts = append(parts, "Such as 90s or 1h30m")
	case a.field.Min != nil || a.field.Max != nil:
		bounds := a.field.Bounds()
		parts = append(parts, strings.ToUpper(bounds[:1])+bounds[1:])
	}
	return strings.Join(parts, ". ")
}
