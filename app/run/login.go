package run

import (
	"context"
	"slices"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/redact"
	"aibox/internal/secret"
)

// login finds the key of the user's account at the agent's vendor, for an agent in its
// vendor's cloud: a variable or an option of this run, otherwise the key of `aibox login`.
// That one is read at the start of the session, like the secrets of the egress proxy.
func (s *resolution) login() error {
	info, launch := s.found.Info(), &s.plan.Launch
	if !info.UsesCloud(launch.Spec.Inference) || !info.HasLogin() {
		return nil
	}
	if slices.Contains(launch.Spec.Env, info.Account.Variable) || hasSecretFor(s.found, launch.Secrets, info.Account.Variable) {
		return nil
	}
	if source, ok := s.plan.Settings.Logins[info.Name]; ok {
		s.plan.Login = &info
		_, _, err := loginPlace(info.Name).locate(source)
		return err
	}
	// Any variable, argument or image of the user's own may hold a key, and an agent on a
	// terminal can ask for one.
	if s.request.Interactive || len(launch.Spec.Env) > 0 || len(launch.Spec.Args) > 0 || launch.Spec.Image != "" {
		return nil
	}
	return fault.New(fault.Usage, "%s needs the key of your account at its vendor, and you are not logged in", info.Title).
		Hint("aibox login %s   # once, for every run", info.Name).
		Hint("for this run only, pass the key with --env %s", info.Account.Variable)
}

// hasSecretFor reports whether one of the agent's secret options sets a variable.
func hasSecretFor(agent agents.Agent, secrets map[string]string, variable string) bool {
	fields, _ := spec.Of(agents.Options(agent)) // checked when the agent was registered
	return slices.ContainsFunc(fields, func(field spec.Field) bool {
		return field.Type == spec.Secret && field.Env == variable && secrets[field.Key] != ""
	})
}

// readLogin reads the key of the user's account at the agent's vendor, for the agent's own
// sandbox. It is not one of the variables of the run, so neither the record nor a
// verification gets it.
func (p *Plan) readLogin(ctx context.Context) error {
	if p.Login == nil {
		return nil
	}
	key, err := ReadLogin(ctx, p.Login.Name, p.Settings.Logins[p.Login.Name])
	if err != nil {
		return fault.New(fault.KindOf(err), "%w", err).Hint("aibox login %s   # replaces the key", p.Login.Name)
	}
	p.Launch.Login = p.Login.Account.Variable + "=" + key.Reveal()
	return nil
}

// ReadLogin reads and checks the key of the user's account at an agent's vendor.
func ReadLogin(ctx context.Context, agent string, source config.SecretSource) (secret.Value, error) {
	key, err := loginPlace(agent).read(ctx, source)
	if err != nil {
		return secret.Value{}, err
	}
	if err := CheckLoginKey(key); err != nil {
		return secret.Value{}, fault.New(fault.Environment, "the login to %s cannot be used: %w", agent, err)
	}
	return key, nil
}

// CheckLoginKey returns a Usage fault for text that cannot be a key. It does not repeat it.
func CheckLoginKey(key secret.Value) error {
	text := key.Reveal()
	switch size := len(text); {
	case size == 0:
		return fault.New(fault.Usage, "the key is empty")
	case size < redact.Least || size > redact.Most:
		return fault.New(fault.Usage, "the key has %s: a key has from %d to %d", amount.Of(size, "byte"), redact.Least, redact.Most)
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n' || c == '\r':
			return fault.New(fault.Usage, "the key has more than one line")
		case c <= ' ' || c >= 0x7f:
			return fault.New(fault.Usage, "the key contains a blank, a control character or a letter that is not ASCII")
		}
	}
	return nil
}
