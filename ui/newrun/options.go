package newrun

import (
	"slices"

	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/config"
	"aibox/internal/secret"
	"aibox/ui/form"

	tea "charm.land/bubbletea/v2"
)

// optionsStep is the agent's own form.
type optionsStep struct {
	part *form.Part
	of   string // the agent and the way of running that it is for; empty is none
	base any    // the options as the settings say
}

// boxStep is what the box may do, and the model: the settings of one run.
type boxStep struct {
	part      *form.Part
	of        *Place // that it is for
	base      any    // *config.Settings, with the lists that a run adds to empty
	inference string // whose models are suggested
}

// nothing has no options.
type nothing struct{}

func emptyPart() *form.Part { return form.NewPart(form.Request{Options: new(nothing)}) }

// asked are the settings that the form asks for.
func asked() []string {
	return slices.DeleteFunc(run.Settable(), func(key string) bool { return key == "system" }) // the library has a list of its own
}

// refill makes the forms anew where they are for something else, with what was chosen
// so far.
func (m *Model) refill() tea.Cmd {
	if m.place == nil {
		return nil
	}
	return tea.Batch(m.refillBox(), m.refillOptions())
}

func (m *Model) refillOptions() tea.Cmd {
	a := m.agentOf(m.draft.Agent)
	if a == nil {
		m.options = optionsStep{part: emptyPart()}
		return nil
	}
	mode, of := spec.Headless, a.Name
	if m.draft.Interactive {
		mode, of = spec.Interactive, a.Name+" -i"
	}
	if of == m.options.of {
		return nil
	}
	begin := m.from.Options
	if m.options.of == a.Name || m.options.of == a.Name+" -i" {
		begin = m.options.chosen()
	} else if m.from.Agent != a.Name {
		begin = nil
	}
	base := run.Base(m.place.Settings, a.Name, a.Options)
	values := spec.Clone(base)
	fill(values, begin)
	if m.from.Agent == a.Name {
		fillSecrets(values, m.from.Secrets)
	}
	m.options = optionsStep{
		part: form.NewPart(form.Request{Options: values, Mode: mode, Suggest: m.suggest()}), of: of, base: base,
	}
	m.dressParts()
	return m.options.part.Init()
}

func (m *Model) refillBox() tea.Cmd {
	if m.box.of == m.place {
		return nil
	}
	base := m.place.Settings.Settings
	empty := config.Defaults()
	fields, _ := spec.Of(&base)
	for _, field := range fields {
		if setting, err := m.place.Settings.Find(field.Key); err == nil && run.AddsUp(setting) {
			_ = field.Copy(&base, &empty)
		}
	}
	values := spec.Clone(&base)
	fill(values, m.from.Settings)
	m.box = boxStep{part: form.NewPart(form.Request{Options: values, Only: asked()}), of: m.place, base: &base}
	m.dressParts()
	return tea.Batch(m.box.part.Init(), m.follow())
}

// fill sets what was said before, as far as it can stand.
func fill(values any, said map[string]string) {
	fields, _ := spec.Of(values)
	for _, field := range fields {
		if text, ok := said[field.Key]; ok {
			_ = field.Set(values, text) // else it is as it would be without
		}
	}
}

// fillSecrets sets the secrets that were typed before.
func fillSecrets(values any, typed map[string]secret.Value) {
	fields, _ := spec.Of(values)
	for _, field := range fields {
		if value, ok := typed[field.Key]; ok && field.Type == spec.Secret {
			_ = field.Set(values, value.Reveal())
		}
	}
}

// follow suggests the models of the server that is chosen.
func (m *Model) follow() tea.Cmd {
	inference := m.inference()
	if m.box.of == nil || inference == m.box.inference {
		return nil
	}
	m.box.inference = inference
	return tea.Batch(m.box.part.Suggest(m.suggest()), m.options.part.Suggest(m.suggest()))
}

// inference is the model server that is chosen.
func (m *Model) inference() string {
	if settings, ok := m.box.part.Draft().(*config.Settings); ok {
		return settings.Inference
	}
	return config.Defaults().Inference
}

// suggest gives models, model servers, and what is at the top of the repository.
func (m *Model) suggest() func(spec.Field) []string {
	ctx, s, inference, files := m.ctx, m.services, m.inference(), m.task.files.top()
	return func(field spec.Field) []string {
		switch {
		case field.Type == spec.Model:
			return s.Choices.Models(ctx, inference)
		case field.Key == "inference":
			return s.Servers
		case field.Type == spec.Path:
			return files
		}
		return nil
	}
}

// chosen are the options that are not as the settings say.
func (o optionsStep) chosen() map[string]string {
	if o.base == nil {
		return nil
	}
	return otherwise(o.part.Draft(), o.base, nil)
}

// secrets are the secrets that were typed, by key.
func (o optionsStep) secrets() map[string]secret.Value {
	var typed map[string]secret.Value
	if o.base == nil {
		return typed
	}
	fields, _ := spec.Of(o.base)
	for _, field := range fields {
		value := field.Secret(o.part.Draft())
		if value == field.Secret(o.base) || !spec.Visible(o.part.Draft(), field) {
			continue
		}
		if typed == nil {
			typed = map[string]secret.Value{}
		}
		typed[field.Key] = value
	}
	return typed
}

// chosen are the settings that are not as they are without this run.
func (b boxStep) chosen() map[string]string {
	if b.base == nil {
		return map[string]string{}
	}
	return otherwise(b.part.Draft(), b.base, asked())
}

// image is the image that was named instead of the agent's own.
func (b boxStep) image() string {
	if settings, ok := b.part.Draft().(*config.Settings); ok {
		return settings.Image
	}
	return ""
}

// otherwise are the options of values that are not as in base, of those in only; nil
// is all.
func otherwise(values, base any, only []string) map[string]string {
	said := map[string]string{}
	fields, _ := spec.Of(base)
	for _, field := range fields {
		text := field.Text(values)
		if field.Type == spec.Secret || only != nil && !slices.Contains(only, field.Key) || text == field.Text(base) || !spec.Visible(values, field) {
			continue
		}
		said[field.Key] = text
	}
	return said
}

// pressForm is a key of one of the forms.
func (m *Model) pressForm(part *form.Part, msg tea.KeyPressMsg) tea.Cmd {
	outcome, cmd := part.Update(msg)
	switch outcome {
	case form.Onward:
		return tea.Batch(cmd, m.enter(m.step+1))
	case form.Backward:
		return tea.Batch(cmd, m.enter(m.step-1))
	}
	return tea.Batch(cmd, m.follow())
}
