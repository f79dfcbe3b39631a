package newrun

import (
	"fmt"
	"slices"

	"aibox/agents/spec"
	"aibox/app/compose"
	"aibox/app/run"
	"aibox/internal/secret"
	"aibox/ui/form"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
)

// optionsStep is the form of the agent's own options.
type optionsStep struct {
	formStep
	agent       string // whose options these are; empty for none
	several     bool   // several agents are chosen, whose options the settings give
	interactive bool   // for interactive runs
	base        any    // the options as the settings have them
	inference   string // the model server whose models are suggested
}

func newOptionsStep(b *bindings) optionsStep { return optionsStep{formStep: newFormStep(b)} }

// fill makes the form for an agent, unless it is there already. The first answers come from
// initial, and otherwise from a resumed session and the settings. It does not change initial.
func (s *optionsStep) fill(a *compose.Agent, interactive bool, place *compose.Place, initial run.Request) tea.Cmd {
	if a == nil {
		s.formStep.reset(form.Request{Options: new(noOptions)})
		s.agent, s.base = "", nil
		return nil
	}
	if s.agent == a.Name && s.interactive == interactive {
		return nil
	}
	options, typed := initial.Options, initial.Secrets
	switch {
	case s.agent == a.Name:
		options, typed = s.chosen(), s.secrets()
	case initial.Agent != a.Name:
		options, typed = nil, nil
	}
	mode := spec.Headless
	if interactive {
		mode = spec.Interactive
	}
	base := run.Base(place.Settings, a.Name, a.Options)
	if resumed := place.Resumed; resumed != nil && resumed.Agent == a.Name {
		setOptions(base, resumed.Options)
	}
	values := spec.Clone(base)
	setOptions(values, options)
	setSecrets(values, typed)
	s.formStep.reset(form.Request{Options: values, Base: base, Mode: mode})
	s.agent, s.interactive, s.base, s.inference = a.Name, interactive, base, ""
	return s.part.Init()
}

// clear forgets the form, so that the next fill makes it again.
func (s *optionsStep) clear() { s.agent = "" }

// chosen are the options that differ from the settings.
func (s *optionsStep) chosen() map[string]string {
	if s.base == nil {
		return nil
	}
	return run.ChangedOptions(s.part.Draft(), s.base, nil)
}

// secrets are the secrets that were typed, by key.
func (s *optionsStep) secrets() map[string]secret.Value {
	if s.base == nil {
		return nil
	}
	var typed map[string]secret.Value
	fields, _ := spec.Of(s.base)
	for _, field := range fields {
		value := field.Secret(s.part.Draft())
		if value == field.Secret(s.base) || !spec.Visible(s.part.Draft(), field) {
			continue
		}
		if typed == nil {
			typed = map[string]secret.Value{}
		}
		typed[field.Key] = value
	}
	return typed
}

// hasPaths reports whether an option is a path.
func (s *optionsStep) hasPaths() bool {
	fields, _ := spec.Of(s.part.Draft())
	return slices.ContainsFunc(fields, func(field spec.Field) bool { return field.Type == spec.Path })
}

// suggest asks for suggestions, unless they were asked for with this model server.
func (s *optionsStep) suggest(inference string, suggest func(spec.Field) []string) tea.Cmd {
	if s.base == nil || s.inference == inference {
		return nil
	}
	s.inference = inference
	return s.part.Suggest(suggest)
}

// position is that of the form, which is shown for a single agent.
func (s *optionsStep) position() (text string, end int) {
	if s.several {
		return "", 0
	}
	return s.formStep.position()
}

func (s *optionsStep) view(t theme.Theme, active bool) []string {
	if s.several {
		return []string{t.Faint.Render("Each agent runs with the options of your settings.")}
	}
	return s.formStep.view(t, active)
}

func (s *optionsStep) status() (text string, complete bool) {
	if s.several {
		return "your settings", true
	}
	text = "unchanged"
	if n := len(s.chosen()); n > 0 {
		text = fmt.Sprintf("%d changed", n)
	}
	return text, s.part.Problem() == nil
}

// setOptions sets the options that are valid.
func setOptions(values any, texts map[string]string) {
	fields, _ := spec.Of(values)
	for _, field := range fields {
		if text, ok := texts[field.Key]; ok {
			_ = field.Set(values, text) // an invalid one keeps its default
		}
	}
}

// setSecrets sets the secrets that were typed before.
func setSecrets(values any, typed map[string]secret.Value) {
	fields, _ := spec.Of(values)
	for _, field := range fields {
		if value, ok := typed[field.Key]; ok && field.Type == spec.Secret {
			_ = field.Set(values, value.Reveal())
		}
	}
}
