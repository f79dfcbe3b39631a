package rules

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/vishvananda/netlink"

	"aibox/netguard"
)

// state is a snapshot of the guard's current state.
type state struct {
	alias    alias
	tables   []*firewall // IPv4, then IPv6 where the kernel has it
	routing  routing
	unlocked map[string][]*netlink.Rule // missing denials, by bridge
	rate     int                        // the limit of ICMP errors
}

func readState() (*state, error) {
	s := &state{rate: icmpRate()}
	var err error
	if s.tables, err = readFirewalls(); err != nil {
		return nil, err
	}
	if s.alias, err = findAlias(); err != nil {
		return nil, err
	}
	if s.routing, err = readRouting(); err != nil {
		return nil, err
	}
	s.unlocked, err = s.routing.unlocked()
	return s, err
}

// drift lists the differences from the state in which all sandboxes are safe: the actual
// and the expected state.
func (s *state) drift() []string {
	drift := s.sharedDrift()
	for _, bridge := range slices.Sorted(maps.Keys(s.unlocked)) {
		for _, rule := range s.unlocked[bridge] {
			drift = append(drift, fmt.Sprintf("bridge %s does not have the routing rule %q%s, and should", bridge, ipRule(*rule), familyWord(rule.Family)))
		}
	}
	return drift
}

// sharedDrift is drift without the parts for single bridges. A starting session must only
// lock its own bridge.
func (s *state) sharedDrift() []string {
	drift := []string{}
	switch {
	case !s.alias.assigned:
		drift = append(drift, fmt.Sprintf("%s is not on lo, and should be", netguard.Address()))
	case !s.alias.up:
		drift = append(drift, "lo is down, and should be up")
	}
	for _, table := range s.tables {
		drift = append(drift, table.drift()...)
	}
	return append(drift, s.routing.orderDrift()...)
}

// limitsICMP reports whether the limit of ICMP errors is still to be changed.
func (s *state) limitsICMP() bool {
	return s.rate != icmpRateOff && (s.alias.own || !s.alias.assigned)
}

// repair returns the changes that repair the drift, or set up everything if nothing is set
// up yet.
func (s *state) repair(ctx context.Context) ([]change, error) {
	var changes []change
	if !s.alias.assigned {
		rate := s.rate
		if rate == icmpRateOff && slices.ContainsFunc(s.tables, (*firewall).hasOwnChains) {
			rate = icmpRateDefault // our own value: another program removed the address that stored the previous one
		}
		changes = append(changes, addAlias(rate))
	}
	for _, table := range s.tables {
		if len(table.drift()) > 0 {
			load, err := table.load(ctx)
			if err != nil {
				return nil, err
			}
			changes = append(changes, load)
		}
	}
	changes = append(changes, s.routing.order()...)
	for _, bridge := range slices.Sorted(maps.Keys(s.unlocked)) {
		for _, rule := range s.unlocked[bridge] {
			changes = append(changes, addRule(rule))
		}
	}
	if s.limitsICMP() {
		changes = append(changes, setICMPRate(icmpRateOff)) // status shows whether it worked
	}
	return changes, nil
}
