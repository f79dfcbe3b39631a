package templates

import (
	"strings"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/setting"
	"aibox/app/template"
)

// fromDefaults completes a definition with the defaults of a request.
func fromDefaults(m *aiboxv1.TemplateDefaults, d *template.Definition) error {
	for name, value := range m.GetEnv() {
		d.Env[name] = value
	}
	if len(m.GetStart()) > 0 {
		d.Start = &template.StartDefinition{Command: m.GetStart()}
	}
	var r setting.Reader
	r.Duration("timeout", "timeout", m.GetTimeout())
	r.Duration("idle-timeout", "idle_timeout", m.GetIdleTimeout())
	r.Limits(m.GetLimits())
	r.Network(m.GetNetwork())
	given, err := r.Result()
	if err != nil {
		return err
	}
	if !given.IsZero() {
		d.Settings = map[string]any{}
	}
	for _, entry := range given.ForResolve(nil) {
		if words, ok := entry.Value.([]string); ok {
			entry.Value = list(words)
		}
		d.Settings[entry.Key] = entry.Value
	}
	return nil
}

// list returns a list in the form of a definition.
func list(words []string) []any {
	all := make([]any, len(words))
	for i, word := range words {
		all[i] = word
	}
	return all
}

// toDefaults returns the defaults of a template's sandboxes.
func toDefaults(t *template.Template) *aiboxv1.TemplateDefaults {
	out := &aiboxv1.TemplateDefaults{Env: map[string]string{}}
	for _, pair := range t.Env {
		name, value, _ := strings.Cut(pair, "=")
		out.Env[name] = value
	}
	if t.Start != nil {
		out.Start = t.Start.Argv
	}
	out.Timeout, out.IdleTimeout = setting.ToDuration(t.Defaults, "timeout"), setting.ToDuration(t.Defaults, "idle-timeout")
	out.Limits, out.Network = setting.ToLimits(t.Defaults), setting.ToNetwork(t.Defaults)
	return out
}
