package rules

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"aibox/netguard"
)

// Lock 2 must come before the lookup of local addresses: otherwise every listener of the
// namespace, on any of its addresses, would answer a sandbox. That lookup's rule has priority
// 0, and nothing can come before it, so it is moved after ours. VRF set-ups do the same
// (Documentation/networking/vrf.rst).
const (
	prefAllow  = 10 // one per port: to the guard's address, look up local addresses
	prefDeny   = 11 // TCP, UDP, ICMP: unreachable
	prefARP    = 12 // the bridge's own address: otherwise the kernel would not answer ARP for it
	prefRest   = 13 // everything else: unreachable
	prefLocal  = 14 // the lookup of local addresses, moved from 0
	tableLocal = unix.RT_TABLE_LOCAL

	actUnreachable = 7 // FR_ACT_UNREACHABLE of linux/fib_rules.h
)

// isolate lets bridge reach exactly ports on the guard's address. It adds the denials first,
// so that the bridge is never open.
func isolate(bridge string, ports GuardRequest) error {
	link, err := netlink.LinkByName(bridge)
	if err != nil {
		return err
	}
	// The kernel also finds an interface by its alternative names, but lock 1 does not.
	if link.Attrs().Name != bridge || link.Type() != "bridge" {
		return fmt.Errorf("it is %s %q", link.Type(), link.Attrs().Name)
	}
	addrs, err := netlink.AddrList(link, unix.AF_INET)
	if err != nil {
		return err
	}
	want := denials(bridge)
	for _, addr := range addrs {
		want = append(want, bridgeAddress(bridge, addr.IP))
	}
	for _, port := range ports.TCP {
		want = append(want, allowance(bridge, unix.IPPROTO_TCP, port))
	}
	for _, port := range ports.UDP {
		want = append(want, allowance(bridge, unix.IPPROTO_UDP, port))
	}
	return setRules(bridge, want)
}

// release leaves bridge with only the denials, or without rules if it no longer exists.
func release(bridge string) error {
	if err := checkBridge(bridge); err != nil {
		return err
	}
	unlock, err := lockNamespace(unix.LOCK_SH) // not while down looks
	if err != nil {
		return err
	}
	defer unlock()
	if interfaceGone(bridge) {
		return setRules(bridge, nil)
	}
	return setRules(bridge, denials(bridge))
}

// setRules replaces the rules of bridge with want, adding before it deletes. It also deletes
// the rules of bridges that no longer exist.
func setRules(bridge string, want []*netlink.Rule) error {
	have, err := ownRules()
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	present := map[string]bool{}
	for _, rule := range have {
		present[ruleText(rule)] = true
	}
	for _, rule := range want {
		wanted[ruleText(*rule)] = true
		if present[ruleText(*rule)] {
			continue
		}
		if err := netlink.RuleAdd(rule); err != nil && !errors.Is(err, unix.EEXIST) {
			if rule.Family == unix.AF_INET6 && (errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP)) {
				continue // a kernel without IPv6
			}
			return fmt.Errorf("adding routing rule %q: %w", ruleText(*rule), err)
		}
	}
	for _, rule := range have {
		if rule.IifName == bridge && !wanted[ruleText(rule)] || rule.IifName != bridge && interfaceGone(rule.IifName) {
			if err := deleteRule(rule); err != nil {
				return err
			}
		}
	}
	return nil
}

// interfaceGone reports whether the interface certainly does not exist.
func interfaceGone(name string) bool {
	_, err := netlink.LinkByName(name)
	var missing netlink.LinkNotFoundError
	return errors.As(err, &missing)
}

func newRule(family, pref int, bridge string) *netlink.Rule {
	rule := netlink.NewRule()
	rule.Family, rule.Priority, rule.IifName = family, pref, bridge
	return rule
}

func denials(bridge string) []*netlink.Rule {
	var rules []*netlink.Rule
	for _, protocol := range []int{unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP} {
		rule := newRule(unix.AF_INET, prefDeny, bridge)
		rule.IPProto, rule.Type = protocol, actUnreachable
		rules = append(rules, rule)
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		rule := newRule(family, prefRest, bridge)
		rule.Type = actUnreachable
		rules = append(rules, rule)
	}
	return rules
}

func bridgeAddress(bridge string, addr net.IP) *netlink.Rule {
	rule := newRule(unix.AF_INET, prefARP, bridge)
	rule.Dst, rule.Table = &net.IPNet{IP: addr, Mask: net.CIDRMask(32, 32)}, tableLocal
	return rule
}

func allowance(bridge string, protocol, port int) *netlink.Rule {
	rule := newRule(unix.AF_INET, prefAllow, bridge)
	rule.Dst = &net.IPNet{IP: netguard.Address().AsSlice(), Mask: net.CIDRMask(32, 32)}
	rule.IPProto, rule.Dport, rule.Table = protocol, netlink.NewRulePortRange(uint16(port), uint16(port)), tableLocal
	return rule
}

// hasOwnChains lists the rules of every bridge, IPv4 and IPv6.
func ownRules() ([]netlink.Rule, error) {
	var found []netlink.Rule
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		rules, err := listRules(family)
		if err != nil {
			return nil, err
		}
		for _, rule := range rules {
			if rule.Priority >= prefAllow && rule.Priority <= prefRest && strings.HasPrefix(rule.IifName, netguard.BridgePrefix) {
				found = append(found, rule)
			}
		}
	}
	return found, nil
}

func listRules(family int) ([]netlink.Rule, error) {
	for range 5 { // repeat a dump that a change has interrupted
		rules, err := netlink.RuleList(family)
		if errors.Is(err, netlink.ErrDumpInterrupted) {
			continue
		}
		if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EOPNOTSUPP) {
			return nil, nil // a kernel without IPv6
		}
		// Or it returns the rules of all families that it has.
		return slices.DeleteFunc(rules, func(r netlink.Rule) bool { return r.Family != family }), err
	}
	return nil, errors.New("the routing rules change faster than they can be read")
}

func deleteRule(rule netlink.Rule) error {
	if rule.Table == 0 {
		rule.Type = actUnreachable // lists do not carry the type
	}
	if err := netlink.RuleDel(&rule); err != nil && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("deleting routing rule %q: %w", ruleText(rule), err)
	}
	return nil
}

// ruleText prints one of our rules much like ip rule. Equivalent rules print the same text.
func ruleText(rule netlink.Rule) string {
	var b strings.Builder
	family := ""
	if rule.Family == unix.AF_INET6 {
		family = "inet6 "
	}
	fmt.Fprintf(&b, "%s%d: iif %s", family, rule.Priority, rule.IifName)
	if rule.Dst != nil {
		fmt.Fprintf(&b, " to %s", rule.Dst.IP)
	}
	if rule.IPProto != 0 {
		fmt.Fprintf(&b, " proto %d", rule.IPProto)
	}
	if rule.Dport != nil {
		fmt.Fprintf(&b, " port %d", rule.Dport.Start)
	}
	if rule.Table == 0 {
		b.WriteString(" unreachable")
	} else {
		fmt.Fprintf(&b, " table %d", rule.Table)
	}
	if rule.Invert || rule.Src != nil || rule.OifName != "" || rule.Mark != 0 || rule.Sport != nil || rule.Tos != 0 || rule.UIDRange != nil {
		b.WriteString(" under a condition") // none of ours has one
	}
	return b.String()
}

func viewRouting() (Routing, error) {
	rules, err := ownRules()
	if err != nil {
		return Routing{}, err
	}
	view := Routing{Locked: []string{}, Rules: []string{}}
	for _, rule := range rules {
		view.Rules = append(view.Rules, ruleText(rule))
		if rule.Priority == prefRest && rule.Family == unix.AF_INET {
			view.Locked = append(view.Locked, rule.IifName)
		}
	}
	return view, nil
}

func familyWord(family int) string {
	if family == unix.AF_INET6 {
		return " (IPv6)"
	}
	return ""
}
