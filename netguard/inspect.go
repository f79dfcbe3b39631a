package netguard

import (
	"errors"
	"fmt"
	"strings"
)

// ParseInspect parses an entry of the list of hosts whose TLS the proxy inspects: HOST,
// HOST:PORT, HOST:* or *.DOMAIN, as in an allow list. Without a port it means port 443. A
// wildcard matches every name below its domain: to see more is never wider.
func ParseInspect(text string) (Pattern, error) {
	if strings.Contains(text, "://") {
		return Pattern{}, fmt.Errorf("%q is not a host: leave out the scheme and the path", clip(text))
	}
	p, err := ParseAllow(text)
	if err != nil {
		if wide, _ := ParseDeny(text); wide.all || wide.wild {
			return Pattern{}, fmt.Errorf("%q has names of many owners: inspect a host, or the names below a domain of one owner", clip(text))
		}
		return Pattern{}, err
	}
	switch p.port {
	case usualPorts:
		p.port = portHTTPS
	case portHTTP:
		return Pattern{}, errors.New("plain HTTP on port 80 needs no inspection")
	}
	return p, nil
}

// Inspects reports whether the proxy inspects TLS to d. It does not report whether d is
// allowed.
func (m *Matcher) Inspects(d Destination) bool { return m.inspect.find(d, Pattern.allowsPort) != nil }

// Uninspected returns the entries of the allow list that restrict requests inside TLS,
// but whose hosts the policy does not inspect. Such entries can allow nothing, so a policy
// with them must be refused.
func (p Policy) Uninspected() []Rule {
	var rules []Rule
	for _, rule := range p.Allow {
		if rule.Pattern.TLS() && !isCovered(rule.Pattern, p.Inspect) {
			rules = append(rules, rule)
		}
	}
	return rules
}

// isCovered reports whether one of the rules has every host and port of p.
func isCovered(p Pattern, rules []Rule) bool {
	for _, rule := range rules {
		q := rule.Pattern
		same := q.host == p.host && q.wild == p.wild
		below := q.wild && p.host.name != "" && strings.HasSuffix(p.host.name, "."+q.host.name)
		if (same || below) && (q.port == anyPort || q.port == p.port) {
			return true
		}
	}
	return false
}

// Host returns the host of p, or the domain whose names p matches. wildcard reports which.
func (p Pattern) Host() (host Host, wildcard bool) { return p.host, p.wild }
