package run

import (
	"context"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/secret"
	"aibox/internal/secretsource"
	"aibox/internal/shellquote"
)

// place is where the settings say where a secret is, for errors.
type place struct {
	table  string // "secrets.GITHUB_TOKEN"
	prefix string // of the keys file and command in the table
	whose  string // "secret GITHUB_TOKEN's"
}

func secretPlace(name string) place { return place{"secrets." + name, "", "secret " + name + "'s"} }

func loginPlace(agent string) place { return place{"agents." + agent, "key-", agent + " login's"} }

// read reads a secret from its source.
func (p place) read(ctx context.Context, source config.SecretSource) (secret.Value, error) {
	file, argv, err := p.locate(source)
	switch {
	case err != nil:
		return secret.Value{}, err
	case file != "":
		return secretsource.ReadFile(file, p.whose+" file")
	}
	return secretsource.RunForLine(ctx, argv, p.whose+" command")
}

// locate returns the path of the secret's file or the words of its command.
func (p place) locate(source config.SecretSource) (file string, argv []string, err error) {
	if source.File != "" {
		if file, err = paths.ExpandHome(source.File); err != nil {
			return "", nil, fault.New(fault.Usage, "%sfile of [%s] %w", p.prefix, p.table, err).Hint(`write a whole path, such as "~/.config/aibox/token"`)
		}
		return file, nil, nil
	}
	if argv, err = shellquote.Split(source.Command); err == nil && len(argv) > 0 {
		return "", argv, nil
	}
	if err == nil {
		return "", nil, fault.New(fault.Usage, "%scommand of [%s] names no program", p.prefix, p.table)
	}
	return "", nil, fault.New(fault.Usage, "%scommand of [%s] cannot be read: %w", p.prefix, p.table, err).
		Hint(`for a pipe or a variable, name a script: %scommand = "/home/me/bin/token"`, p.prefix)
}
