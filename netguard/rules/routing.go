package rules

import (
	"context"
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
// 0, and nothing can come before it, so it is moved after ours. VRF configurations do the
// same (Documentation/networking/vrf.rst).
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
func isolate(bridge string, ports GuardRequest) ([]change, error) {
	link, err := netlink.LinkByName(bridge)
	if err != nil {
		return nil, err
	}
	// The kernel also finds an interface by its alternative names, but lock 1 does not.
	if link.Attrs().Name != bridge || link.Type() != "bridge" {
		return nil, fmt.Errorf("it is %s %q", link.Type(), link.Attrs().Name)
	}
	addrs, err := readDump("addresses", func() ([]netlink.Addr, error) { return netlink.AddrList(link, unix.AF_INET) })
	if err != nil {
		return nil, err
	}
	r, err := readRouting()
	if err != nil {
		return nil, err
	}
	want := r.denials(bridge)
	for _, addr := range addrs {
		want = append(want, bridgeAddress(bridge, addr.IP))
	}
	for _, port := range ports.TCP {
		want = append(want, allowance(bridge, unix.IPPROTO_TCP, port))
	}
	for _, port := range ports.UDP {
		want = append(want, allowance(bridge, unix.IPPROTO_UDP, port))
	}
	return r.set(bridge, want), nil
}

// release leaves bridge with only the denials, or without rules if it no longer exists.
func (j job) release(ctx context.Context, bridge string) error {
	if err := checkBridge(bridge); err != nil {
		return err
	}
	unlock, err := lockNamespace(unix.LOCK_SH) // not while down checks
	if err != nil {
		return err
	}
	defer unlock()
	r, err := readRouting()
	if err != nil {
		return err
	}
	if interfaceGone(bridge) {
		return j.run(ctx, r.set(bridge, nil))
	}
	return j.run(ctx, r.set(bridge, r.denials(bridge)))
}

// routing is the routing rules of the namespace, by address family; a kernel without IPv6
// has only one.
type routing map[int][]netlink.Rule

func readRouting() (routing, error) {
	kinds, err := families()
	if err != nil {
		return nil, err
	}
	r := routing{}
	for _, v6 := range kinds {
		family := unix.AF_INET
		if v6 {
			family = unix.AF_INET6
		}
		rules, err := listRules(family)
		if err != nil {
			return nil, err
		}
		r[family] = rules
	}
	return r, nil
}

func listRules(family int) ([]netlink.Rule, error) {
	rules, err := readDump("routing rules", func() ([]netlink.Rule, error) { return netlink.RuleList(family) })
	// Without the family, the kernel may return the rules of the families that it has.
	return slices.DeleteFunc(rules, func(r netlink.Rule) bool { return r.Family != family }), err
}

// families returns the address families in order: IPv4 first.
func (r routing) families() []int {
	if _, ok := r[unix.AF_INET6]; ok {
		return []int{unix.AF_INET, unix.AF_INET6}
	}
	return []int{unix.AF_INET}
}

// own returns the rules of every bridge, IPv4 and IPv6.
func (r routing) own() []netlink.Rule {
	var found []netlink.Rule
	for _, family := range r.families() {
		for _, rule := range r[family] {
			if rule.Priority >= prefAllow && rule.Priority <= prefRest && strings.HasPrefix(rule.IifName, netguard.BridgePrefix) {
				found = append(found, rule)
			}
		}
	}
	return found
}

// set replaces the rules of bridge with want, adding before it deletes. It also deletes the
// rules of bridges that no longer exist.
func (r routing) set(bridge string, want []*netlink.Rule) []change {
	changes := r.missing(want)
	wanted := map[string]bool{}
	for _, rule := range want {
		wanted[ruleText(*rule)] = true
	}
	for _, rule := range r.own() {
		if rule.IifName == bridge && !wanted[ruleText(rule)] || rule.IifName != bridge && interfaceGone(rule.IifName) {
			changes = append(changes, deleteRule(rule))
		}
	}
	return changes
}

// missing adds the wanted rules that do not exist.
func (r routing) missing(want []*netlink.Rule) []change {
	present := map[string]bool{}
	for _, rule := range r.own() {
		present[ruleText(rule)] = true
	}
	var changes []change
	for _, rule := range want {
		if !present[ruleText(*rule)] {
			changes = append(changes, addRule(rule))
		}
	}
	return changes
}

// unlocked returns the missing denials, by bridge: of bridges with a sandbox, and of those
// that have other rules of ours. A bridge that was never used needs none yet.
func (r routing) unlocked() (map[string][]*netlink.Rule, error) {
	bridges, err := occupiedBridges()
	if err != nil {
		return nil, err
	}
	for _, rule := range r.own() {
		if !slices.Contains(bridges, rule.IifName) && !interfaceGone(rule.IifName) {
			bridges = append(bridges, rule.IifName)
		}
	}
	missing := map[string][]*netlink.Rule{}
	for _, bridge := range bridges {
		have := map[string]bool{}
		for _, rule := range r.own() {
			have[ruleText(rule)] = true
		}
		for _, rule := range r.denials(bridge) {
			if !have[ruleText(*rule)] {
				missing[bridge] = append(missing[bridge], rule)
			}
		}
	}
	return missing, nil
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

func (r routing) denials(bridge string) []*netlink.Rule {
	var rules []*netlink.Rule
	for _, protocol := range []int{unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMP} {
		rule := newRule(unix.AF_INET, prefDeny, bridge)
		rule.IPProto, rule.Type = protocol, actUnreachable
		rules = append(rules, rule)
	}
	for _, family := range r.families() {
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

// view returns the routing part of the status.
func (r routing) view() Routing {
	view := Routing{Locked: []string{}, Rules: []string{}, Ordered: len(r.orderDrift()) == 0}
	for _, rule := range r.own() {
		view.Rules = append(view.Rules, ruleText(rule))
		if rule.Priority == prefRest && rule.Family == unix.AF_INET {
			view.Locked = append(view.Locked, rule.IifName)
		}
	}
	return view
}
