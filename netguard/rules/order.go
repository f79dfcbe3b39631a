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

// localRules finds the rules that look up local addresses for everything, by
// priority.
func localRules(family int) ([]netlink.Rule, error) {
	rules, err := listRules(family)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rules, func(rule netlink.Rule) bool { return !looksUpLocal(rule) }), nil
}

func looksUpLocal(rule netlink.Rule) bool {
	return rule.Table == tableLocal && rule.IifName == "" && rule.OifName == "" && rule.Src == nil && rule.Dst == nil && rule.Mark == 0
}

// routingOrder lists the rules that come before lock 2. Only the lookup of local addresses is
// moved; the user has to decide about other programs' rules.
func routingOrder() ([]string, error) {
	drift := []string{}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		rules, err := listRules(family)
		if err != nil {
			return nil, err
		}
		for _, rule := range rules {
			switch ownRules := strings.HasPrefix(rule.IifName, netguard.BridgePrefix); {
			case rule.Priority > prefRest, ownRules && rule.Priority >= prefAllow:
			case rule.OifName != "", rule.IifName != "" && !ownRules && !rule.Invert:
				// It does not apply to packets from a bridge.
			case looksUpLocal(rule):
				drift = append(drift, fmt.Sprintf("local addresses are looked up at priority %d, before the bridges' locks%s", rule.Priority, familyWord(family)))
			default:
				drift = append(drift, fmt.Sprintf("a routing rule at priority %d comes before the bridges' locks%s", rule.Priority, familyWord(family)))
			}
		}
	}
	return drift, nil
}

// orderRouting moves the lookup of local addresses after the bridges' locks. It adds the new
// rule before it deletes the old one.
func orderRouting() error {
	return moveLocal(func(pref int) bool { return pref <= prefRest }, prefLocal)
}

func removeRouting() error {
	rules, err := ownRules()
	if err != nil {
		return err
	}
	// Local addresses come first again before the locks open.
	errs := []error{moveLocal(func(pref int) bool { return pref == prefLocal }, 0)}
	for _, rule := range rules {
		errs = append(errs, deleteRule(rule))
	}
	return errors.Join(errs...)
}

func moveLocal(misplaced func(pref int) bool, to int) error {
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		rules, err := localRules(family)
		if err != nil {
			return err
		}
		there := slices.ContainsFunc(rules, func(r netlink.Rule) bool { return r.Priority == to })
		for _, old := range rules {
			if !misplaced(old.Priority) {
				continue
			}
			if !there {
				rule := netlink.NewRule()
				rule.Family, rule.Priority, rule.Table = family, to, tableLocal
				rule.Protocol = old.Protocol
				if err := netlink.RuleAdd(rule); err != nil && !errors.Is(err, unix.EEXIST) {
					return fmt.Errorf("moving the lookup of local addresses to priority %d: %w", to, err)
				}
				there = true
			}
			if err := netlink.RuleDel(&old); err != nil && !errors.Is(err, unix.ENOENT) {
				return fmt.Errorf("moving the lookup of local addresses from priority %d: %w", old.Priority, err)
			}
		}
	}
	return nil
}
