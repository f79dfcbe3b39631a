package netguard

import (
	"cmp"
	"slices"
	"strings"

	"aibox/internal/sorting"
)

// Use is what a session did with one destination.
type Use struct {
	Destination Destination
	Requests    int
	Up, Down    int64 // bytes from and to the sandbox
}

// Proposal is an entry that an allow list needs for a session's requests. If it is a
// wildcard, Hosts has the names that it was made for.
type Proposal struct {
	Pattern  Pattern
	Hosts    []Host
	Requests int
	Up, Down int64
}

// foldFrom is how many names below one domain make a wildcard.
const foldFrom = 3

// Propose returns the shortest allow list that allows all uses and that a user can check:
// an entry for each host, and one wildcard for three or more names below one domain. A
// wildcard never covers names of many owners; see ParseAllow. What one of the known entries
// allows is left out, as is what no list can allow. Entries are sorted by their requests,
// most first.
func Propose(uses []Use, known []Pattern) []Proposal {
	byEntry := map[Pattern]*Proposal{}
	for _, use := range uses {
		pattern, err := entryFor(use.Destination)
		if err != nil || slices.ContainsFunc(known, func(k Pattern) bool { return k.Covers(pattern) }) {
			continue
		}
		if byEntry[pattern] == nil {
			byEntry[pattern] = &Proposal{Pattern: pattern, Hosts: []Host{use.Destination.Host}}
		}
		byEntry[pattern].add(use.Requests, use.Up, use.Down)
	}
	siblings := map[Pattern][]*Proposal{} // by the wildcard that would cover them
	for _, p := range byEntry {
		if wildcard, ok := p.Pattern.above(); ok {
			siblings[wildcard] = append(siblings[wildcard], p)
		}
	}
	for wildcard, names := range siblings {
		if len(names) < foldFrom {
			continue
		}
		folded := &Proposal{Pattern: wildcard}
		for _, p := range names {
			folded.Hosts = append(folded.Hosts, p.Hosts...)
			folded.add(p.Requests, p.Up, p.Down)
			delete(byEntry, p.Pattern)
		}
		sorting.Func(folded.Hosts, func(a, b *Host) int { return cmp.Compare(a.String(), b.String()) })
		byEntry[wildcard] = folded
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

// above returns the wildcard for the names beside the pattern's host; false if it would
// cover names of many owners.
func (p Pattern) above() (Pattern, bool) {
	_, domain, ok := strings.Cut(p.host.name, ".")
	if !ok || p.wild || !p.host.ownedBelow(domain) {
		return Pattern{}, false
	}
	wildcard := Pattern{host: nameHost(domain), wild: true, port: p.port}
	checked, err := ParseAllow(wildcard.String())
	return checked, err == nil && checked == wildcard
}
