package rules

import (
	"fmt"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// ipRule returns a routing rule as arguments of ip rule, without its family.
func ipRule(rule netlink.Rule) string {
	var b strings.Builder
	if rule.Invert {
		b.WriteString("not ")
	}
	fmt.Fprintf(&b, "pref %d", rule.Priority)
	if rule.Src != nil {
		fmt.Fprintf(&b, " from %s", rule.Src)
	}
	if rule.Dst != nil {
		fmt.Fprintf(&b, " to %s", rule.Dst)
	}
	if rule.Mark != 0 {
		fmt.Fprintf(&b, " fwmark %#x", rule.Mark)
		if rule.Mask != nil {
			fmt.Fprintf(&b, "/%#x", *rule.Mask)
		}
	}
	if rule.Tos != 0 {
		fmt.Fprintf(&b, " tos %#x", rule.Tos)
	}
	if rule.IifName != "" {
		b.WriteString(" iif " + rule.IifName)
	}
	if rule.OifName != "" {
		b.WriteString(" oif " + rule.OifName)
	}
	if rule.UIDRange != nil {
		fmt.Fprintf(&b, " uidrange %d-%d", rule.UIDRange.Start, rule.UIDRange.End)
	}
	if rule.IPProto != 0 {
		fmt.Fprintf(&b, " ipproto %s", protocolName(rule.IPProto))
	}
	if rule.Sport != nil {
		fmt.Fprintf(&b, " sport %d-%d", rule.Sport.Start, rule.Sport.End)
	}
	if rule.Dport != nil {
		fmt.Fprintf(&b, " dport %d", rule.Dport.Start)
		if rule.Dport.End != rule.Dport.Start {
			fmt.Fprintf(&b, "-%d", rule.Dport.End)
		}
	}
	switch rule.Table {
	case 0:
		b.WriteString(" unreachable")
	case tableLocal:
		b.WriteString(" lookup local")
	default:
		fmt.Fprintf(&b, " lookup %d", rule.Table)
	}
	if rule.Protocol == unix.RTPROT_KERNEL {
		b.WriteString(" protocol kernel")
	}
	return b.String()
}

func protocolName(number int) string {
	switch number {
	case unix.IPPROTO_TCP:
		return "tcp"
	case unix.IPPROTO_UDP:
		return "udp"
	case unix.IPPROTO_ICMP:
		return "icmp"
	default:
		return fmt.Sprint(number)
	}
}

// ruleText formats one of our rules much like ip rule. Equivalent rules print the same text.
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
		b.WriteString(" under a condition") // our rules do not have one
	}
	return b.String()
}

func familyWord(family int) string {
	if family == unix.AF_INET6 {
		return " (IPv6)"
	}
	return ""
}

// familyFlag returns the option of ip for the family.
func familyFlag(family int) string {
	if family == unix.AF_INET6 {
		return "-6 "
	}
	return ""
}
