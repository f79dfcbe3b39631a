package config

import (
	"strings"

	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
)

// SecretSource has the settings under [secrets.NAME]: where the value of the secret NAME of
// --secret is, in place of the environment variable NAME. Only the user can set them. They
// hold no secret.
type SecretSource struct {
	File    string `label:"File" help:"The file with the secret, which only you can read (mode 0600)"`
	Command string `label:"Command" help:"The command that prints the secret, such as \"gh auth token\"; no shell runs it"`
}

// secretsTable is the table above all [secrets.NAME].
const secretsTable = "secrets"

// secretName matches the names of secrets, which are those of environment variables.
var secretName = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secretSections returns the tables of secrets with their settings.
func secretSections(names []string) ([]*section, error) {
	var all []*section
	for _, name := range names {
		s := &section{name: secretsTable + "." + name, defaults: new(SecretSource)}
		var err error
		if s.fields, err = spec.Of(s.defaults); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// check returns a Usage fault for a source that cannot give a value.
func (s SecretSource) check(name string) error {
	switch table := "[" + secretsTable + "." + name + "]"; {
	case !secretName.MatchString(name):
		return fault.New(fault.Usage, "%s is not named like an environment variable", table).Hint("use letters, digits and _, as in --secret NAME=HOST:HEADER")
	case s.File == "" && s.Command == "":
		return fault.New(fault.Usage, "%s has neither a file nor a command", table).Hint(`file = "~/.config/aibox/token", or command = "gh auth token"`)
	case s.File != "" && s.Command != "":
		return fault.New(fault.Usage, "%s has both a file and a command", table).Hint("keep one of them")
	}
	return nil
}

// namedTables are the tables that the user names: one for each provider and each secret.
type namedTables struct{ providers, secrets []string }

// tablesIn returns the tables that the user names in a document.
func tablesIn(d *Document) namedTables {
	return namedTables{namesUnder(d, providersTable), namesUnder(d, secretsTable)}
}

// with returns the tables, including that of a key such as "providers.work.url".
func (n namedTables) with(key string) namedTables {
	parts := strings.Split(key, ".")
	if len(parts) != 3 || parts[1] == "" {
		return n
	}
	switch parts[0] {
	case providersTable:
		n.providers = append([]string{parts[1]}, n.providers...)
	case secretsTable:
		n.secrets = append([]string{parts[1]}, n.secrets...)
	}
	return n
}
