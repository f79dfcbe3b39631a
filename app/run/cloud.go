package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"aibox/agents"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/netguard"
)

// UnacceptedCloud reports that an agent needs servers of its vendor that the user has not
// accepted yet.
type UnacceptedCloud struct {
	Agent    agents.Info
	Accepted []string // accepted entries, of this version's hosts or of others
}

// Hosts returns the agent's hosts that the user has not accepted.
func (u UnacceptedCloud) Hosts() []string {
	var accepted []netguard.Pattern
	for _, entry := range u.Accepted {
		if p, err := netguard.ParseAllow(entry); err == nil {
			accepted = append(accepted, p)
		}
	}
	var hosts []string
	for _, host := range u.Agent.Hosts {
		wanted, err := netguard.ParseAllow(host)
		covers := func(p netguard.Pattern) bool { return p.Covers(wanted) }
		if err != nil || !slices.ContainsFunc(accepted, covers) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// More reports whether the user has accepted other hosts of the agent before.
func (u UnacceptedCloud) More() bool { return len(u.Hosts()) < len(u.Agent.Hosts) }

// Error describes what the user has to accept.
func (u UnacceptedCloud) Error() string {
	hosts := strings.Join(u.Hosts(), ", ")
	if u.More() {
		return fmt.Sprintf("%s talks to more of its vendor's servers than you have accepted (%s), where aibox does not see its traffic either", u.Agent.Title, hosts)
	}
	return fmt.Sprintf("%s talks to its vendor's servers (%s), where aibox does not see its traffic, and you have not accepted that yet", u.Agent.Title, hosts)
}

// Accept returns the setting and the value that accept the hosts in addition to those
// accepted before.
func (u UnacceptedCloud) Accept() (key, value string) {
	return config.CloudKey(u.Agent.Name), strings.Join(slices.Concat(u.Accepted, u.Hosts()), ",")
}

// CheckCloud returns a Refused fault that wraps UnacceptedCloud if an agent uses its
// vendor's servers under an inference and the user's settings do not accept all of them.
func CheckCloud(info agents.Info, inference string, settings *config.Resolved) error {
	if !info.UsesCloud(inference) {
		return nil
	}
	if err := info.CheckCloud(); err != nil {
		return err
	}
	unaccepted := UnacceptedCloud{info, settings.AcceptedCloud(info.Name)}
	if len(unaccepted.Hosts()) == 0 {
		return nil
	}
	key, value := unaccepted.Accept()
	refused := fault.New(fault.Refused, "%w", unaccepted).Hint("aibox config set %s %s   # accepts it, for every run of %s", key, shellquote.Quote(value), info.Name)
	if _, loggedIn := settings.Logins[info.Name]; !loggedIn && info.HasLogin() {
		refused = refused.Hint("aibox login %s   # accepts it, and stores the key of your account", info.Name)
	}
	return refused
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
