package run

import (
	"maps"
	"os"
	"slices"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/secret"
)

// setOptions stores the texts in the agent's options and validates them as a whole. Invalid
// options are a Usage fault.
func setOptions(agent agents.Agent, texts map[string]string) error {
	target := agents.Options(agent)
	fields, err := spec.Of(target)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(texts)) {
		field, err := spec.Find(fields, key)
		if err != nil {
			return err
		}
		if field.Type == spec.Secret {
			return fault.New(fault.Usage, "%q is a secret, and other users can read command lines", key).Hint("export %s=… instead", field.Env)
		}
		if err := field.Set(target, texts[key]); err != nil {
			return err
		}
	}
	return spec.Validate(target)
}

// checkApplies refuses an option that was set and would not reach the agent: because of the
// other options or, for those in given, because of the mode. Options of the settings are
// for both modes, and an option for the other mode is kept for such a run.
func checkApplies(agent agents.Agent, texts, given map[string]string, mode spec.Mode) error {
	target := agents.Options(agent)
	fields, err := spec.Of(target)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if _, set := texts[field.Key]; !set {
			continue
		}
		if err := spec.Applies(target, field); err != nil {
			return err
		}
		if _, set := given[field.Key]; !set {
			continue
		}
		if err := spec.AppliesIn(target, field, mode); err != nil {
			return err
		}
	}
	return nil
}

// EnvironmentSecrets returns the agent's secret options that the user has in the
// environment, by key. They are sent through a pipe and never stored.
func EnvironmentSecrets(agent agents.Agent) (map[string]secret.Value, error) {
	fields, err := spec.Of(agents.Options(agent))
	if err != nil {
		return nil, err
	}
	secrets := map[string]secret.Value{}
	for _, field := range fields {
		if value, ok := os.LookupEnv(field.Env); ok && field.Type == spec.Secret {
			secrets[field.Key] = secret.New(value)
		}
	}
	return secrets, nil
}

// SetEnvironmentSecrets stores the secrets of the environment in the agent's options, so
// that a form shows that they are set.
func SetEnvironmentSecrets(agent agents.Agent) error {
	secrets, err := EnvironmentSecrets(agent)
	if err != nil {
		return err
	}
	return setSecrets(agent, Reveal(secrets))
}

// setSecrets stores secrets, by key, in the agent's options.
func setSecrets(agent agents.Agent, secrets map[string]string) error {
	options := agents.Options(agent)
	fields, err := spec.Of(options)
	if err != nil {
		return err
	}
	for _, field := range fields {
		if text, ok := secrets[field.Key]; ok && field.Type == spec.Secret {
			if err := field.Set(options, text); err != nil {
				return err
			}
		}
	}
	return nil
}

// SecretsOf returns the secrets that are set in options, a pointer to an agent's options,
// by key; nil if there are none. They may include those of the environment.
func SecretsOf(options any) map[string]secret.Value {
	fields, err := spec.Of(options)
	if err != nil {
		return nil
	}
	var secrets map[string]secret.Value
	for _, field := range fields {
		value := field.Secret(options)
		if value.Empty() || !spec.Visible(options, field) {
			continue
		}
		if secrets == nil {
			secrets = map[string]secret.Value{}
		}
		secrets[field.Key] = value
	}
	return secrets
}

// Reveal returns secrets as plain text, for the pipe to the supervisor. Later ones replace
// earlier ones.
func Reveal(all ...map[string]secret.Value) map[string]string {
	clear := map[string]string{}
	for _, secrets := range all {
		for key, value := range secrets {
			clear[key] = value.Reveal()
		}
	}
	return clear
}
