package netguard

import (
	"cmp"
	"slices"

	"aibox/internal/sorting"
)

// Use is a session's use of one destination.
type Use struct {
	Destination Destination
	Requests    int
	Up, Down    int64 // bytes from and to the sandbox
}

// Proposal is an entry that an allow list needs for a session's requests.
type Proposal struct {
	Pattern  Pattern
	Requests int
	Up, Down int64
}

// Propose returns the smallest allow list that allows all uses: an entry for each host, with
// its port unless that is 443 or 80. It has no wildcards, which would allow names that nobody
// used, perhaps of other owners. What one of the known entries allows is left out, as is what
// no list can allow. So is a host to which a known entry allows only some requests: an entry
// for the host would allow all. Entries are sorted by their requests, most first.
func Propose(uses []Use, known []Pattern) []Proposal {
	rules := make([]Rule, len(known))
	for i, pattern := range known {
		rules[i].Pattern = pattern
	}
	matcher := NewMatcher(Policy{Mode: Public, Allow: rules})
	byEntry := map[Pattern]*Proposal{}
	for _, use := range uses {
		if rule := matcher.Decide(use.Destination).Rule; rule != nil && rule.Pattern.Restricted() {
			continue
		}
		pattern, err := entryFor(use.Destination)
		if err != nil || slices.ContainsFunc(known, func(k Pattern) bool { return k.Covers(pattern) }) {
			continue
		}
		if byEntry[pattern] == nil {
			byEntry[pattern] = &Proposal{Pattern: pattern}
		}
		byEntry[pattern].add(use.Requests, use.Up, use.Down)
	}
	all := make([]Proposal, 0, len(byEntry))
	for _, p := range byEntry {
		all = append(all, *p)
	}
	sorting.Func(all, func(a, b *Proposal) int {
		return cmp.Or(-cmp.Compare(a.Requests, b.Requests), cmp.Compare(a.Pattern.String(), b.Pattern.String()))
	})
	return all
}

func (p *Proposal) add(requests int, up, down int64) {
	p.Requests += requests
	p.Up += up
	p.Down += down
}

// entryFor returns the entry of an allow list for a destination.
func entryFor(d Destination) (Pattern, error) {
	if d.Port == portHTTPS || d.Port == portHTTP {
		return ParseAllow(d.Host.String())
	}
	return ParseAllow(d.String())
}
