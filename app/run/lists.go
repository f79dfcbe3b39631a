package run

import (
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/netguard/preset"
	"aibox/session/mount"
)

// ListChecks returns checks for config.Catalog, by the setting's key: one for each list of
// a run or of this machine whose words have a special syntax.
func ListChecks() map[string]func(word string) error {
	return map[string]func(string) error{
		"allow": func(word string) error {
			_, err := preset.ParseAllow(word)
			return err
		},
		"deny": func(word string) error {
			_, err := preset.ParseDeny(word)
			return err
		},
		"cloud":     checkCloudHost,
		"inspect":   checkInspected,
		"mount":     checkMount,
		"secret":    checkSecretRule,
		"ssh-agent": checkSSHLogin,
		"own-addresses": func(word string) error {
			_, err := netguard.ParseOwnAddress(word)
			return err
		},
	}
}

func checkMount(word string) error {
	_, err := mount.Parse(word)
	return err
}

func checkSSHLogin(word string) error {
	if _, err := netguard.ParseSSHLogin(word); err != nil {
		return fault.New(fault.Usage, "%w", err).Hint("--ssh-agent USER@HOST, such as git@github.com")
	}
	return nil
}

func checkCloudHost(word string) error {
	if word == "true" || word == "false" { // values of earlier versions
		return fault.New(fault.Usage, "option \"cloud\" lists the hosts that you accept, and is neither true nor false").
			Hint("`aibox run AGENT` names the hosts, and the command that accepts them")
	}
	if _, err := netguard.ParseAllow(word); err != nil {
		return fault.New(fault.Usage, "%w", err).Hint("write HOST, HOST:PORT or *.DOMAIN")
	}
	return nil
}

func checkInspected(word string) error {
	if _, err := netguard.ParseInspect(word); err != nil {
		return fault.New(fault.Usage, "%w", err).Hint("write HOST, HOST:PORT or *.DOMAIN")
	}
	return nil
}

func checkSecretRule(word string) error {
	if _, err := netguard.ParseSecretRule(word); err != nil {
		return fault.New(fault.Usage, "%w", err).
			Hint("--secret NAME=HOST:HEADER, such as GITHUB_TOKEN=api.github.com:Authorization or, for git, GITHUB_TOKEN=github.com:git; the value stays in your environment variable NAME")
	}
	return nil
}
