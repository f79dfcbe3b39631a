package run

import (
	"errors"
	"fmt"
	"strings"

	"aibox/agents"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
)

// UnacceptedCloud reports that an agent needs its vendor's servers, which the user has not
// accepted yet.
type UnacceptedCloud struct{ Agent agents.Info }

// Error describes what the user has to accept.
func (u UnacceptedCloud) Error() string {
	return fmt.Sprintf("%s talks to its vendor's servers (%s), where aibox does not see its traffic, and you have not accepted that yet", u.Agent.Title, strings.Join(u.Agent.Hosts, ", "))
}

// Accept returns the setting and the value that accept the cloud.
func (u UnacceptedCloud) Accept() (key, value string) { return config.CloudKey(u.Agent.Name), "true" }

// CheckCloud returns a Refused fault that wraps UnacceptedCloud if an agent uses its
// vendor's servers under an inference and the user's settings do not accept them.
func CheckCloud(info agents.Info, inference string, settings *config.Resolved) error {
	if !info.UsesCloud(inference) {
		return nil
	}
	if err := info.CheckCloud(); err != nil {
		return err
	}
	if settings.AcceptsCloud(info.Name) {
		return nil
	}
	unaccepted := UnacceptedCloud{info}
	key, value := unaccepted.Accept()
	return fault.New(fault.Refused, "%w", unaccepted).Hint("aibox config set %s %s   # accepts it, for every run of %s", key, value, info.Name)
}

// IsUnacceptedCloud returns the UnacceptedCloud that err wraps.
func IsUnacceptedCloud(err error) (UnacceptedCloud, bool) {
	var unaccepted UnacceptedCloud
	ok := errors.As(err, &unaccepted)
	return unaccepted, ok
}

// cloud allows the hosts of the agent's own cloud, if the agent uses it and the user has
// accepted that. The built-in policy then becomes allowlist.
func (s *resolution) cloud() error {
	info, launched := s.found.Info(), &s.plan.Launch.Spec
	if !info.UsesCloud(launched.Inference) {
		return nil
	}
	if err := CheckCloud(info, launched.Inference, s.plan.Settings); err != nil {
		return err
	}
	if setting, err := s.plan.Settings.Find("network"); err == nil && setting.Source().Kind == config.BuiltIn {
		launched.Network = netguard.Allowlist.String()
	}
	if !launched.Mode().HasProxy() {
		return fault.New(fault.Refused, "%s talks to its vendor's servers, and the network policy %s has no way out of the sandbox", info.Title, launched.Network).
			Hint("use --network %s", netguard.Allowlist)
	}
	launched.CloudHosts = info.Hosts
	launched.Sources = map[string]string{"cloud": info.CloudSource()}
	return nil
}
