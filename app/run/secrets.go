package run

import (
	"context"
	"maps"
	"os"
	"slices"
	"strings"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/redact"
	"aibox/internal/secret"
	"aibox/netguard"
	"aibox/session"
)

// secrets reads the values of the secrets that the egress proxy adds, if they are in the
// environment. Those in a file or from a program are read at the start of the session,
// because the program may ask the user for a password.
func (s *resolution) secrets() error {
	launch := &s.plan.Launch
	if !launch.Spec.Mode().HasProxy() {
		return nil
	}
	var missing []string
	for _, text := range launch.Spec.Secret {
		rule, err := netguard.ParseSecretRule(text)
		if err != nil {
			return err
		}
		if source, ok := s.plan.Settings.Secrets[rule.Name]; ok {
			if _, _, err := secretPlace(rule.Name).locate(source); err != nil {
				return err
			}
			continue
		}
		value, ok := os.LookupEnv(rule.Name)
		if !ok || value == "" {
			missing = append(missing, rule.Name)
			continue
		}
		if err := s.plan.inject(rule, secret.New(value)); err != nil {
			return err
		}
	}
	if err := s.checkSecretHosts(); err != nil {
		return err
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fault.New(fault.Usage, "--secret needs the value of %s, and the variable is not set", strings.Join(slices.Compact(missing), ", ")).
			Hint("export %s=…   # the value stays on this side of the sandbox", missing[0]).
			Hint("or name a program that prints it: aibox config set secrets.%s.command 'gh auth token'", missing[0])
	}
	return nil
}

// ReadSecrets reads the values of the secrets that spec names, by name, for a sandbox
// without an agent.
func ReadSecrets(ctx context.Context, settings *config.Resolved, spec *session.Spec) (map[string]string, error) {
	s := &resolution{plan: Plan{Settings: settings, Launch: session.Launch{Spec: *spec}}}
	if err := s.secrets(); err != nil {
		return nil, err
	}
	err := s.plan.readSecrets(ctx)
	return s.plan.Launch.Injected, err
}

// inject adds the value of a secret for the egress proxy.
func (p *Plan) inject(rule netguard.SecretRule, value secret.Value) error {
	if size := len(value.Reveal()); size < redact.Least || size > redact.Most {
		return fault.New(fault.Usage, "the value of %s has %d bytes: a secret has from %d to %d", rule.Name, size, redact.Least, redact.Most)
	}
	if _, err := rule.Value(value); err != nil {
		return fault.New(fault.Usage, "%w", err)
	}
	if p.Launch.Injected == nil {
		p.Launch.Injected = map[string]string{}
	}
	p.Launch.Injected[rule.Name] = value.Reveal()
	return nil
}

// readSecrets reads the secrets for which the user's settings name a file or a program.
// Each program runs once.
func (p *Plan) readSecrets(ctx context.Context) error {
	if p.Settings == nil || !p.Launch.Spec.Mode().HasProxy() {
		return nil
	}
	p.Launch.Injected = maps.Clone(p.Launch.Injected)
	read := map[string]secret.Value{}
	for _, text := range p.Launch.Spec.Secret {
		rule, err := netguard.ParseSecretRule(text)
		if err != nil {
			return err
		}
		source, ok := p.Settings.Secrets[rule.Name]
		if !ok {
			continue
		}
		value, ok := read[rule.Name]
		if !ok {
			if value, err = secretPlace(rule.Name).read(ctx, source); err != nil {
				return err
			}
			read[rule.Name] = value
		}
		if err := p.inject(rule, value); err != nil {
			return err
		}
	}
	return nil
}
