package netguard

import "slices"

// Within returns the part of p that outer also allows: it allows no request that either of
// them refuses. dropped are the entries of p's allow list that are not in the result.
//
// The result inspects no hosts. Hosts that either of the two inspects, and those of entries
// that restrict requests, are denied: a proxy that does not inspect them could not enforce
// what the other enforces.
func (p Policy) Within(outer Policy) (within Policy, dropped []Rule) {
	within.Mode = min(p.Mode, outer.Mode)
	if !p.Mode.valid() || !outer.Mode.valid() {
		within.Mode = None
	}
	for _, list := range [][]Rule{outer.Deny, denials(outer), p.Deny, denials(p)} {
		for _, rule := range list {
			if !hasPattern(within.Deny, rule.Pattern) {
				within.Deny = append(within.Deny, rule)
			}
		}
	}
	for _, rule := range p.Allow {
		if within.Mode.HasProxy() && outer.covers(rule.Pattern) {
			within.Allow = append(within.Allow, rule)
		} else {
			dropped = append(dropped, rule)
		}
	}
	return within, dropped
}

// IsWithin reports whether p, whose mode is not Public, allows no request that outer refuses, and
// leaves no host uninspected that outer inspects. It may be false although that is true.
func (p Policy) IsWithin(outer Policy) bool {
	within, dropped := p.Within(outer)
	if within.Mode != p.Mode || p.Mode == Public || len(dropped) > 0 {
		return false
	}
	for _, rule := range outer.Deny { // it also denies addresses of other hosts
		if !hasPattern(p.Deny, rule.Pattern) {
			return false
		}
	}
	isFree := func(rule Rule) bool { return rule.Pattern.Restricted() && p.allowsSomeOf(rule.Pattern) }
	isUnseen := func(rule Rule) bool { return !hasPattern(p.Inspect, rule.Pattern) && p.allowsSomeOf(rule.Pattern) }
	return !slices.ContainsFunc(outer.Allow, isFree) && !slices.ContainsFunc(outer.Inspect, isUnseen)
}

// allowsSomeOf reports whether an entry of the allow list has a host that q matches.
func (p Policy) allowsSomeOf(q Pattern) bool {
	return slices.ContainsFunc(p.Allow, func(rule Rule) bool { return q.all || rule.Pattern.all || rule.Pattern.meets(q) })
}

// covers reports whether p allows every connection that an entry of an allow list allows,
// except for those that its deny list refuses. It is false for an entry that restricts
// requests.
func (p Policy) covers(q Pattern) bool {
	if q.Restricted() || q.host.IsZero() {
		return false
	}
	usual := q.port == usualPorts || q.port == portHTTPS || q.port == portHTTP
	if p.Mode == Public && usual {
		return true
	}
	for _, rule := range p.Allow {
		if !rule.Pattern.Restricted() && rule.Pattern.Covers(q) {
			return true
		}
	}
	return false
}

// denials returns entries of a deny list for the hosts about which the proxy of p decides
// request by request.
func denials(p Policy) []Rule {
	var rules []Rule
	for _, rule := range p.Allow {
		if rule.Pattern.Restricted() {
			rules = append(rules, Rule{rule.Pattern.denial(), rule.Source})
		}
	}
	for _, rule := range p.Inspect {
		rules = append(rules, Rule{rule.Pattern.denial(), rule.Source})
	}
	return rules
}

// denial returns the entry of a deny list for the hosts of p, on every port.
func (p Pattern) denial() Pattern { return Pattern{host: p.host, wild: p.wild, all: p.all} }

func hasPattern(rules []Rule, p Pattern) bool {
	for _, rule := range rules {
		if rule.Pattern == p {
			return true
		}
	}
	return false
}
