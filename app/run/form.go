package run

import (
	"maps"
	"slices"

	"aibox/agents"
	"aibox/agents/spec"
)

// FormOptions returns a pointer to the options of a plan's agent as the plan has them,
// with its secrets, for a form to fill in.
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

// WithOptions returns r with the options that a form filled in: those of given, which the
// form began with, and those that are not at their default. options is a pointer to the
// agent's options. Secrets are taken over, too.
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
	fields, _ := spec.Of(base) // nil has none
	for _, field := range fields {
		differs := field.Text(values) != field.Text(base) || slices.Contains(given, field.Key)
		if differs && field.Type != spec.Secret && spec.Visible(values, field) {
			changed[field.Key] = field.FlagText(values)
		}
	}
	return changed
}

// WithOptions returns p with the agent's options as a form has them, for a preview.
func (p Plan) WithOptions(options any) Plan {
	texts := maps.Clone(p.Launch.Spec.Options)
	if texts == nil {
		texts = map[string]string{}
	}
	fields, _ := spec.Of(options) // of a registered agent
	for _, field := range fields {
		if field.Type != spec.Secret {
			texts[field.Key] = field.Text(options)
		}
	}
	p.Launch.Spec.Options, p.Launch.Secrets = texts, Reveal(SecretsOf(options))
	return p
}
