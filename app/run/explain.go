package run

import (
	"net/netip"
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/shellquote"
	"aibox/netguard"
	"aibox/session"
)

// Explanation is the decision of a policy about one destination.
type Explanation struct {
	Destination string        `json:"destination"` // HOST:PORT in canonical form
	Policy      string        `json:"policy"`      // the network policy's name
	Allowed     bool          `json:"allowed"`
	Restricted  bool          `json:"restricted,omitempty"` // only some requests are allowed
	Reason      string        `json:"reason"`               // one word, as in the log
	Explanation string        `json:"explanation"`          // the reason as a clause
	Rule        string        `json:"rule,omitempty"`       // the entry that decided
	Source      string        `json:"source,omitempty"`     // origin of the entry
	Presets     []string      `json:"presets,omitempty"`    // presets of the allow list whose hosts only the image knows
	Addresses   []AddressText `json:"addresses,omitempty"`  // the decision about each resolved address
	Command     string        `json:"command,omitempty"`    // the command that would allow it; empty if none can or it is allowed
}

// AddressText is the decision about one address of a host.
type AddressText struct {
	Address     string `json:"address"`
	Allowed     bool   `json:"allowed"`
	Explanation string `json:"explanation"`
}

// AddressCheck decides about the resolved addresses of a host, like the egress proxy before
// it connects to an allowed one.
type AddressCheck func(policy *netguard.Matcher, port uint16, found []netip.Addr) []netguard.AddressVerdict

// Explain decides about a destination under the policy of a session or of a run that is not
// started. id is the running session, or empty. check decides about a destination that is
// an address, and about addresses, which are the host's; it has none if it was not
// resolved. A nil check skips both.
func Explain(spec *session.Spec, lists *session.Lists, id session.ID, d netguard.Destination, check AddressCheck, addresses ...netip.Addr) (Explanation, error) {
	policy, presets, err := spec.Policy()
	if err != nil {
		return Explanation{}, err
	}
	if lists != nil {
		if policy.Allow, policy.Deny, err = rulesOf(lists); err != nil {
			return Explanation{}, err
		}
		presets = nil // resolved when the session started
	}
	matcher := netguard.NewMatcher(policy)
	v := matcher.Decide(d)
	if addr, ok := d.Host.Address(); ok && check != nil && (v.Allowed || v.Reason.Askable()) {
		for _, decided := range check(matcher, d.Port, []netip.Addr{addr}) {
			if !decided.Verdict.Allowed {
				v = decided.Verdict
			}
		}
	}
	e := Explanation{
		Destination: d.String(), Policy: spec.Network, Allowed: v.Allowed, Restricted: v.Restricted(),
		Reason: v.Reason.Name(), Explanation: v.Reason.String(),
	}
	if v.Rule != nil {
		e.Rule, e.Source = v.Rule.Pattern.String(), v.Rule.Source
	}
	if !v.Allowed && v.Reason == netguard.NotListed {
		e.Presets = presets
	}
	if !v.Allowed {
		e.Command = allowCommand(spec, id, d, v)
		return e, nil
	}
	if check == nil || len(addresses) == 0 {
		return e, nil
	}
	decided := check(matcher, d.Port, addresses)
	for _, address := range decided {
		e.Addresses = append(e.Addresses, AddressText{address.Address.String(), address.Verdict.Allowed, address.Verdict.Reason.String()})
	}
	if !slices.ContainsFunc(decided, func(a netguard.AddressVerdict) bool { return a.Verdict.Allowed }) {
		reason := decided[0].Verdict.Reason // as the proxy reports it
		e.Allowed, e.Reason, e.Explanation = false, reason.Name(), reason.String()
	}
	return e, nil
}

func rulesOf(lists *session.Lists) (allow, deny []netguard.Rule, err error) {
	read := func(entries []session.ListEntry, parse func(string) (netguard.Pattern, error)) (rules []netguard.Rule, err error) {
		for _, entry := range entries {
			pattern, err := parse(entry.Pattern)
			if err != nil {
				return nil, fault.New(fault.Internal, "the session's record has an invalid entry %q: %w", entry.Pattern, err)
			}
			rules = append(rules, netguard.Rule{Pattern: pattern, Source: entry.Source})
		}
		return rules, nil
	}
	if allow, err = read(lists.Allow, netguard.ParseAllow); err == nil {
		deny, err = read(lists.Deny, netguard.ParseDeny)
	}
	return allow, deny, err
}

// allowCommand returns the command that allows a refused destination; empty if there is
// none.
func allowCommand(spec *session.Spec, id session.ID, d netguard.Destination, v netguard.Verdict) string {
	host := d.Host.String()
	if d.Port != 443 && d.Port != 80 {
		host = d.String()
	}
	undo := id != "" && v.Reason == netguard.DeniedByRule && v.Rule.Source == session.DeniedLater
	pattern, err := netguard.ParseAllow(host)
	if undo { // the denial of every host is undone by its text, although no allow list can have it
		pattern, err = v.Rule.Pattern, nil
	}
	switch {
	case err != nil, !undo && !v.Reason.Askable() && v.Reason != netguard.NoEgress:
		return ""
	case id != "" && v.Reason == netguard.NoEgress:
		return ""
	case id != "":
		number, _, _ := strings.Cut(string(id), "-")
		return shellquote.Join([]string{"aibox", "allow", number, pattern.String()})
	}
	request := Request{Agent: spec.Agent}
	if spec.Mode() == netguard.Public {
		_ = request.Settings.Set("network", spec.Network)
	}
	allow := slices.Clone(spec.Allow)
	if !slices.Contains(allow, pattern.String()) { // the policy can have no use for the list
		allow = append(allow, pattern.String())
	}
	if request.Settings.SetWords("allow", allow) != nil {
		return ""
	}
	return shellquote.Join(request.CommandLine(nil))
}
