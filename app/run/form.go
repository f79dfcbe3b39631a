package run

import (
	"maps"
	"slices"

	"aibox/agents"
	"aibox/agents/spec"
)

// FormOptions returns a pointer to the options of a plan's agent, with the plan's values
// and secrets, for a form.
func (r *Runner) FormOptions(plan Plan) (any, error) {
	agent, err := r.User.Agents().Find(plan.Launch.Spec.Agent)
	if err != nil {
		return nil, err
	}
	if err := setOptions(agent, plan.Launch.Spec.Options); err != nil {
		return nil, err
	}
	return agents.Options(agent), setSecrets(agent, plan.Launch.Secrets)
}

// WithOptions returns r with the options that a form filled in: those in given, with which
// the form began, and those that differ from their default. options is a pointer to the
// agent's options. Secrets are included.
func (r Request) WithOptions(given map[string]string, options any) Request {
	r = r.Clone()
	r.Options, r.Secrets = map[string]string{}, SecretsOf(options)
	defaults := spec.Clone(options)
	if spec.Defaults(defaults) != nil {
		return r
	}
	r.Options = ChangedOptions(options, defaults, slices.Collect(maps.Keys(given)))
	return r.ForMode(options)
}

// ChangedOptions returns the options of values that differ from base, and those with the
// keys in given, as spec.Field.Set reads them. It leaves out secrets and options that the
// other options hide. values and base are pointers to the same struct.
func ChangedOptions(values, base any, given []string) map[string]string {
	changed := map[string]string{}
	fields, _ := spec.Of(base) // nil has no fields
	for _, field := range fields {
		differs := field.Text(values) != field.Text(base) || slices.Contains(given, field.Key)
		if differs && field.Type != spec.Secret && spec.Visible(values, field) {
			changed[field.Key] = field.FlagText(values)
		}
	}
	return changed
}

// WithOptions returns p with the agent's options from a form, for a preview.
func (p Plan) WithOptions(options any) Plan {
	texts := maps.Clone(p.Launch.Spec.Options)
	if texts == nil {
		texts = map[string]string{}
	}
	fields, _ := spec.Of(options) // the agent is registered, so there is no error
	for _, field := range fields {
		if field.Type != spec.Secret {
			texts[field.Key] = field.Text(options)
		}
	}
	p.Launch.Spec.Options, p.Launch.Secrets = texts, Reveal(SecretsOf(options))
	return p
}
