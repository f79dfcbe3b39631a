package netguard

import (
	"slices"
	"strings"
)

// Covers reports whether p, as an entry of an allow list, allows every request that q
// allows. It may return false for some patterns of paths although that is true.
func (p Pattern) Covers(q Pattern) bool {
	if q.host.IsZero() || q.all || p.all || !p.coversHost(q) || !p.coversPort(q) {
		return false
	}
	return p.requests == requestRule{} || p.requests == q.requests
}

// Denies reports whether p, as an entry of a deny list, refuses every request that q, as an
// entry of an allow list, allows.
func (p Pattern) Denies(q Pattern) bool {
	sameHost := p.host == q.host && p.wild == q.wild
	if !p.all && !sameHost && !p.isAbove(q) {
		return false
	}
	return p.port == usualPorts || p.port == anyPort || p.port == q.port
}

func (p Pattern) coversHost(q Pattern) bool {
	if p.host == q.host && p.wild == q.wild {
		return true
	}
	return p.isAbove(q) && q.host.ownedBelow(p.host.name)
}

// isAbove reports whether p is a wildcard, and the host of q is below its domain.
func (p Pattern) isAbove(q Pattern) bool {
	return p.wild && p.host.name != "" && strings.HasSuffix(q.host.name, "."+p.host.name)
}

func (p Pattern) coversPort(q Pattern) bool {
	switch {
	case p.port == anyPort, p.port == q.port:
		return true
	case p.port == usualPorts:
		return q.port == portHTTPS || q.port == portHTTP
	default:
		return false
	}
}

// meets reports whether some host matches both patterns, as entries of a deny list.
func (p Pattern) meets(q Pattern) bool {
	return p.host == q.host && p.wild == q.wild || p.isAbove(q) || q.isAbove(p)
}

// Narrows reports whether an allow list with the entries of next allows at most the
// requests that one with those of now allows, under each mode. It may return false for some
// lists although that is true.
//
// An entry that restricts requests must stay: without it, a wider entry or the policy
// Public would decide about its host. For the same reason no new entry may name its host.
func Narrows(next, now []Pattern) bool {
	for _, p := range now {
		if p.Restricted() && !slices.Contains(next, p) {
			return false
		}
	}
	for _, q := range next {
		if slices.Contains(now, q) {
			continue
		}
		covered := slices.ContainsFunc(now, func(p Pattern) bool { return p.Covers(q) })
		if !covered || slices.ContainsFunc(now, func(p Pattern) bool { return p.Restricted() && p.meets(q) }) {
			return false
		}
	}
	return true
}
