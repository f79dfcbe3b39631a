package run

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
)

// implyNetwork makes --allow imply the policy allowlist if the request names no policy.
func (s *resolution) implyNetwork() {
	given := &s.request.Settings
	if len(given.Words("allow")) == 0 || given.Has("network") {
		return
	}
	if given.Set("network", netguard.Allowlist.String()) == nil {
		s.implied = "--allow"
	}
}

// ResolveNetwork is the part of Resolve that finds the network policy. The agent and the
// task may be missing.
func (r *Runner) ResolveNetwork(request Request) (session.Spec, error) {
	s := r.resolution(request)
	if err := s.do(s.settings); err != nil {
		return session.Spec{}, err
	}
	if s.plan.Launch.Spec.Agent != "" {
		if err := s.agent(); err != nil {
			return session.Spec{}, err
		}
		if err := s.cloud(); err != nil {
			return session.Spec{}, err
		}
	}
	err := s.network()
	return s.plan.Launch.Spec, err
}

// network checks the settings of the egress proxy as a whole, and completes the launch
// with the sources of the lists.
func (s *resolution) network() error {
	launch := &s.plan.Launch
	mode := launch.Spec.Mode()
	if !mode.HasProxy() {
		return s.checkWithoutProxy(mode)
	}
	if launch.Spec.Learn && mode != netguard.Public {
		return fault.New(fault.Usage, "--learn has an effect only with --network public").
			Hint("aibox run --network public --learn …")
	}
	if launch.Spec.Sources == nil {
		launch.Spec.Sources = map[string]string{}
	}
	for _, key := range []string{"allow", "deny", "inspect"} {
		if setting, err := s.plan.Settings.Find(key); err == nil {
			launch.Spec.Sources[key] = sourceOf(setting)
		}
	}
	if err := s.checkSSHAgent(); err != nil {
		return err
	}
	return checkInspection(&launch.Spec)
}

// checkSSHAgent refuses a login in a flag that the session cannot use: there is no
// ssh-agent, or the session cannot reach the server. A login in the settings is kept for
// sessions that can use it.
func (s *resolution) checkSSHAgent() error {
	words := s.request.Settings.Words("ssh-agent")
	if len(words) == 0 {
		return nil
	}
	if err := findSSHAgent(); err != nil {
		return err
	}
	policy, unresolved, err := s.plan.Launch.Spec.Policy()
	if err != nil || len(unresolved) > 0 { // the image's tools may print the host
		return err
	}
	matcher := netguard.NewMatcher(policy)
	for _, word := range words {
		login, err := netguard.ParseSSHLogin(word)
		if err != nil {
			return err
		}
		if matcher.Decide(login.Destination).Reason.Askable() {
			return fault.New(fault.Usage, "--ssh-agent %s is for %s, which the allow list does not have", word, login.Destination).
				Hint("--allow %s", login.Destination)
		}
	}
	return nil
}

// findSSHAgent returns an error if no ssh-agent of the user answers.
func findSSHAgent() error {
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return fault.New(fault.Usage, "--ssh-agent needs an ssh-agent, and SSH_AUTH_SOCK is not set").
			Hint(`eval "$(ssh-agent)" && ssh-add`)
	}
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(context.Background(), "unix", socket)
	if err != nil {
		return fault.New(fault.Usage, "--ssh-agent needs an ssh-agent, and the one that SSH_AUTH_SOCK names does not answer: %w", err).
			Hint(`eval "$(ssh-agent)" && ssh-add`)
	}
	return conn.Close()
}

// checkSecretHosts refuses a secret in a flag for a host that the session cannot reach. A
// secret in the settings is kept for sessions that can reach its host.
func (s *resolution) checkSecretHosts() error {
	policy, unresolved, err := s.plan.Launch.Spec.Policy()
	if err != nil || len(unresolved) > 0 { // the image's tools may print the host
		return err
	}
	matcher := netguard.NewMatcher(policy)
	for _, word := range s.request.Settings.Words("secret") {
		rule, err := netguard.ParseSecretRule(word)
		if err != nil {
			return err
		}
		if matcher.Decide(rule.Destination).Reason == netguard.NotListed {
			return fault.New(fault.Usage, "the secret %s is for %s, which the allow list does not have", rule.Name, rule.Destination).
				Hint("--allow %s", rule.Destination.Host)
		}
	}
	return nil
}

// checkInspection refuses a policy with entries that can never apply, because they allow
// requests inside TLS that the proxy does not inspect.
func checkInspection(spec *session.Spec) error {
	policy, _, err := spec.Policy()
	if err != nil {
		return err
	}
	for _, rule := range policy.Uninspected() {
		host := rule.Pattern.WholeHost()
		return fault.New(fault.Usage, "%q allows single requests, which the egress proxy sees only if it decrypts the traffic to the host", rule.Pattern).
			Hint("allow the whole host: --allow %s", host).
			Hint("or have aibox decrypt its traffic: --inspect %s", host)
	}
	return nil
}

// checkWithoutProxy refuses flags of the egress proxy under a policy without one. Values in
// the settings are kept for runs with a proxy.
func (s *resolution) checkWithoutProxy(mode netguard.Mode) error {
	for _, key := range s.request.Settings.Keys() {
		words := s.request.Settings.Words(key)
		if !config.IsProxySetting(key) || len(words) == 0 && key != "learn" && key != "ask" || s.request.Settings.Text(key) == "false" {
			continue
		}
		wanted := netguard.Allowlist
		if key == "learn" {
			wanted = netguard.Public
		}
		return fault.New(fault.Usage, "--%s has no effect with the network policy %s, which has no egress proxy", key, mode).
			Hint("use --network %s, or drop --%s", wanted, key)
	}
	return nil
}

// sourceOf describes the origin of a list, for the rules of a policy.
func sourceOf(setting config.Setting) string {
	var names []string
	for _, source := range setting.From {
		switch source.Kind {
		case config.BuiltIn:
			continue
		case config.UserFile:
			names = append(names, "your settings")
		case config.RepositoryFile:
			names = append(names, "the repository's "+config.RepositoryName)
		default:
			names = append(names, source.Name)
		}
	}
	return strings.Join(slices.Compact(names), " and ")
}
