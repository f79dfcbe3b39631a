package session

import (
	"fmt"
	"slices"

	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/netguard/preset"
)

// source returns where the entries of a list come from, for the rules of the policy.
func (spec *Spec) source(list string) string {
	if source := spec.Sources[list]; source != "" {
		return source
	}
	return "the session's " + list + " list"
}

// Policy returns the network policy of the session's settings and of the agent's own cloud,
// and the presets in the allow list whose hosts are named by the image's own tools. An
// invalid word is a Usage fault.
func (spec *Spec) Policy() (policy netguard.Policy, unresolved []string, err error) {
	policy.Mode = spec.Mode()
	for _, word := range spec.Allow {
		entry, err := preset.ParseAllow(word)
		if err != nil {
			return netguard.Policy{}, nil, err
		}
		if entry.Preset == "" {
			policy.Allow = append(policy.Allow, netguard.Rule{Pattern: entry.Pattern, Source: spec.source("allow")})
			continue
		}
		found, _ := preset.Find(entry.Preset)
		switch {
		case !found.Asks():
			policy.Allow = append(policy.Allow, found.Static().Rules...)
		case !slices.Contains(unresolved, found.Name):
			unresolved = append(unresolved, found.Name)
		}
	}
	for _, host := range spec.CloudHosts {
		pattern, err := netguard.ParseAllow(host)
		if err != nil {
			return netguard.Policy{}, nil, err
		}
		policy.Allow = append(policy.Allow, netguard.Rule{Pattern: pattern, Source: spec.source("cloud")})
	}
	for _, host := range spec.Inspect {
		pattern, err := netguard.ParseInspect(host)
		if err != nil {
			return netguard.Policy{}, nil, err
		}
		policy.Inspect = append(policy.Inspect, netguard.Rule{Pattern: pattern, Source: spec.source("inspect")})
	}
	secrets, err := spec.SecretRules()
	if err != nil {
		return netguard.Policy{}, nil, err
	}
	for _, rule := range secrets {
		if pattern, needed := rule.Inspect(); needed { // the proxy adds the secret inside TLS
			policy.Inspect = append(policy.Inspect, netguard.Rule{Pattern: pattern, Source: "the secret " + rule.Name})
		}
	}
	for _, word := range spec.Deny {
		pattern, err := preset.ParseDeny(word)
		if err != nil {
			return netguard.Policy{}, nil, err
		}
		policy.Deny = append(policy.Deny, netguard.Rule{Pattern: pattern, Source: spec.source("deny")})
	}
	return policy, unresolved, nil
}

// ReachesLess reports whether a session with the settings next, whose policy is an allow list, reaches
// only hosts that one with the settings now and the policy public reaches, too. It is false if that
// is unknown.
func ReachesLess(next, now *config.Run) bool {
	inner, unresolved, err := (&Spec{Run: *next}).Policy()
	outer, _, outerErr := (&Spec{Run: *now}).Policy()
	known := err == nil && outerErr == nil && len(unresolved) == 0
	return known && inner.Mode == netguard.Allowlist && outer.Mode == netguard.Public && inner.IsWithin(outer)
}

// EgressBudgets returns the limits of the traffic to allowed hosts, in bytes; 0 means no limit.
func (spec *Spec) EgressBudgets() netguard.Traffic {
	return netguard.Traffic{
		Upload: spec.EgressUpload.Bytes(), Download: spec.EgressDownload.Bytes(),
		UploadPerHost: spec.EgressUploadHost.Bytes(), DownloadPerHost: spec.EgressDownloadHost.Bytes(),
	}
}

// SecretRules returns the parsed rules of the secrets that the egress proxy adds.
func (spec *Spec) SecretRules() ([]netguard.SecretRule, error) {
	var rules []netguard.SecretRule
	for _, word := range spec.Secret {
		rule, err := netguard.ParseSecretRule(word)
		if err != nil {
			return nil, fault.New(fault.Usage, "%w", err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

// SSHLogins returns the logins that the user's ssh-agent may sign.
func (spec *Spec) SSHLogins() ([]netguard.SSHLogin, error) {
	var logins []netguard.SSHLogin
	for _, word := range spec.SSHAgent {
		login, err := netguard.ParseSSHLogin(word)
		if err != nil {
			return nil, fault.New(fault.Usage, "%w", err)
		}
		logins = append(logins, login)
	}
	return logins, nil
}

// Lists are the allow list and the deny list of a session. They can change while it runs.
type Lists struct {
	Allow []ListEntry `json:"allow"`
	Deny  []ListEntry `json:"deny"`
}

// ListEntry is an entry in a list.
type ListEntry struct {
	Pattern string `json:"pattern"` // in the format of netguard.Pattern
	Source  string `json:"source"`  // its origin; see netguard.Rule
}

// ListsOf returns the lists of a policy.
func ListsOf(p netguard.Policy) *Lists {
	return &Lists{listOf(p.Allow), listOf(p.Deny)}
}

func listOf(rules []netguard.Rule) []ListEntry {
	list := make([]ListEntry, len(rules))
	for i, rule := range rules {
		list[i] = ListEntry{rule.Pattern.String(), rule.Source}
	}
	return list
}

// DeniedLater is the source of rules that `aibox deny` added while the session ran. `aibox allow` of
// the same entry removes them.
const DeniedLater = "aibox deny"

// The sources of rules that the user added to the allow list while the session ran.
const (
	AllowedLater  = "aibox allow"
	ApprovedLater = "approved" // when the session asked
)

// PolicyChange changes the lists of a running session. An entry of one list removes the
// same entry from the other if it was added while the session ran.
type PolicyChange struct {
	Allow  []string // entries; see netguard.ParseAllow
	Deny   []string // entries; see netguard.ParseDeny
	Reason string   // for the log, such as the command
}

// PolicyChanged is the result of a PolicyChange.
type PolicyChanged struct {
	Lists
	Closed int `json:"closed"` // number of open connections that are no longer allowed
}

// CheckLists returns a Usage fault for the first entry that is invalid for a running
// session.
func CheckLists(allow, deny []string) error {
	for _, word := range allow {
		entry, err := preset.ParseAllow(word)
		if err != nil {
			return err
		}
		if entry.Preset != "" {
			return presetFault(entry.Preset)
		}
	}
	for _, word := range deny {
		if _, err := preset.ParseDeny(word); err != nil {
			return err
		}
	}
	return nil
}

// presetFault refuses a preset: a running agent could change which hosts the tools in its
// sandbox name.
func presetFault(name string) error {
	return fault.New(fault.Usage, "the preset %s can only be allowed before the agent starts", name).
		Hint("name the hosts: `aibox netguard log -f` shows those that were refused")
}

// Egress counts the requests of a sandbox to its egress proxy.
type Egress struct {
	Allowed int   `json:"allowed"` // requests and tunnels
	Refused int   `json:"refused"`
	Up      int64 `json:"bytes_up"`   // bytes from the sandbox, in requests that have ended
	Down    int64 `json:"bytes_down"` // bytes to the sandbox
}

// IsZero reports whether there was no request.
func (e Egress) IsZero() bool { return e == Egress{} }

// String formats the allowed requests.
func (e Egress) String() string {
	return fmt.Sprintf("%s outside, %s sent, %s received", amount.Of(e.Allowed, "request"), amount.Bytes(e.Up), amount.Bytes(e.Down))
}

// NetworkLists are new lists of a sandbox's network policy. A nil list stays unchanged; an
// empty one has no entries.
type NetworkLists struct {
	Allow *[]string `json:"allow,omitempty"`
	Deny  *[]string `json:"deny,omitempty"`
}

// Check returns an error for the first invalid entry.
func (l *NetworkLists) Check() error {
	if l.Allow != nil {
		for _, word := range *l.Allow {
			if _, err := preset.ParseAllow(word); err != nil {
				return err
			}
		}
	}
	if l.Deny != nil {
		for _, word := range *l.Deny {
			if _, err := preset.ParseDeny(word); err != nil {
				return err
			}
		}
	}
	return nil
}
