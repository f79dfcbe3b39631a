package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"aibox/netguard"
)

// looksUpLocal reports whether the rule looks up local addresses for everything.
func looksUpLocal(rule netlink.Rule) bool {
	return rule.Table == tableLocal && rule.IifName == "" && rule.OifName == "" && rule.Src == nil && rule.Dst == nil && rule.Mark == 0
}

// orderDrift lists the rules that come before lock 2. Only the lookup of local addresses is
// moved; the user must decide about other programs' rules.
func (r routing) orderDrift() []string {
	drift := []string{}
	for _, family := range r.families() {
		if !slices.ContainsFunc(r[family], looksUpLocal) {
			drift = append(drift, fmt.Sprintf("routing%s: no rule looks up local addresses, and one at priority %d should", familyWord(family), prefLocal))
		}
		for _, rule := range r[family] {
			own := strings.HasPrefix(rule.IifName, netguard.BridgePrefix)
			switch {
			case rule.Priority > prefRest, own && !rule.Invert && rule.Priority >= prefAllow:
			case !rule.Invert && (rule.OifName != "" || rule.IifName != "" && !own):
				// It does not apply to packets from a bridge.
			case looksUpLocal(rule):
				drift = append(drift, fmt.Sprintf("routing%s: local addresses are looked up at priority %d, before the bridges' locks, and should be at %d",
					familyWord(family), rule.Priority, prefLocal))
			default:
				drift = append(drift, fmt.Sprintf("routing%s: the rule %q comes before the bridges' locks, and none should",
					familyWord(family), ipRule(rule)))
			}
		}
	}
	return drift
}

// order moves the lookup of local addresses after the bridges' locks.
func (r routing) order() []change {
	return r.moveLocal(func(pref int) bool { return pref <= prefRest }, prefLocal)
}

// removal removes lock 2. Local addresses come first again before the locks open.
func (r routing) removal() []change {
	changes := r.moveLocal(func(pref int) bool { return pref == prefLocal }, 0)
	for _, rule := range r.own() {
		changes = append(changes, deleteRule(rule))
	}
	return changes
}

// moveLocal adds the lookup of local addresses at priority to before it deletes those that
// are misplaced. It also adds it where there is none at all.
func (r routing) moveLocal(misplaced func(pref int) bool, to int) []change {
	var changes []change
	for _, family := range r.families() {
		local := slices.DeleteFunc(slices.Clone(r[family]), func(rule netlink.Rule) bool { return !looksUpLocal(rule) })
		old := slices.DeleteFunc(slices.Clone(local), func(rule netlink.Rule) bool { return !misplaced(rule.Priority) })
		there := slices.ContainsFunc(local, func(rule netlink.Rule) bool { return rule.Priority == to })
		if !there && (len(old) > 0 || len(local) == 0) {
			rule := netlink.NewRule()
			rule.Family, rule.Priority, rule.Table, rule.Protocol = family, to, tableLocal, unix.RTPROT_KERNEL
			if len(old) > 0 {
				rule.Protocol = old[0].Protocol
			}
			changes = append(changes, addRule(rule))
		}
		for _, rule := range old {
			changes = append(changes, deleteRule(rule))
		}
	}
	return changes
}

// addRule adds a routing rule.
func addRule(rule *netlink.Rule) change {
	return ipChange(familyFlag(rule.Family)+"rule add "+ipRule(*rule), func() error {
		err := netlink.RuleAdd(rule)
		if err == nil || errors.Is(err, unix.EEXIST) {
			return nil
		}
		return fmt.Errorf("adding routing rule %q: %w", ipRule(*rule), err)
	})
}

// deleteRule deletes a routing rule that was listed.
func deleteRule(rule netlink.Rule) change {
	if rule.Table == 0 {
		rule.Type = actUnreachable // lists do not carry the type
	}
	return ipChange(familyFlag(rule.Family)+"rule del "+ipRule(rule), func() error {
		if err := netlink.RuleDel(&rule); err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("deleting routing rule %q: %w", ipRule(rule), err)
		}
		return nil
	})
}
