package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"aibox/netguard"
)

// Our chains, and the chains that jump to them.
const (
	chainInput   = "AIBOX-INPUT"
	chainForward = "AIBOX-FORWARD"
	chainDocker  = "DOCKER-USER" // Docker's chain for users' rules, which comes before its own

	// markComment marks a filter table that aibox created, so that down can remove it
	// again.
	markComment = "aibox-made-this-table"
)

// own returns the rules of our chains.
func (f *firewall) own() map[string][]string {
	if f.v6 {
		deny := []string{"-p tcp -j REJECT --reject-with tcp-reset", "-j REJECT --reject-with icmp6-port-unreachable"}
		return map[string][]string{chainInput: deny, chainForward: deny}
	}
	// Resets, because the kernel limits how many ICMP errors it sends.
	deny := []string{"-p tcp -j REJECT --reject-with tcp-reset", "-j REJECT --reject-with icmp-port-unreachable"}
	to := "-d " + netguard.Address().String() + "/32 "
	input := []string{}
	for _, port := range netguard.TCPPorts() {
		input = append(input, to+"-p tcp -m tcp --dport "+strconv.Itoa(port)+" -j ACCEPT")
	}
	input = append(input, to+"-p udp -m udp --dport "+strconv.Itoa(netguard.PortDNS)+" -j ACCEPT")
	return map[string][]string{chainInput: append(input, deny...), chainForward: deny}
}

// jumps returns the rules that must come first in the chains that are not ours. Docker's
// chain gets them, too, because Docker moves its jump back to the top of FORWARD whenever
// it creates a network.
func (f *firewall) jumps() map[string][]string {
	in, out := "-i "+netguard.BridgePrefix+"+ -j ", "-o "+netguard.BridgePrefix+"+ -j "
	forward := []string{in + chainForward, out + chainForward}
	jumps := map[string][]string{"INPUT": {in + chainInput}, "FORWARD": forward}
	if _, ok := f.chains[chainDocker]; ok {
		jumps[chainDocker] = forward
	}
	return jumps
}

// differencesShown bounds how many differences of one chain are listed.
const differencesShown = 10

// drift lists the differences from own and jumps: the actual and the expected rules.
func (f *firewall) drift() []string {
	var drift []string
	for _, chain := range []string{chainInput, chainForward} {
		if f.isCurrent(chain) {
			continue
		}
		differences := f.differences(chain)
		if more := len(differences) - differencesShown; more > 0 {
			differences = append(differences[:differencesShown], fmt.Sprintf("has %d more differences", more))
		}
		for _, difference := range differences {
			drift = append(drift, fmt.Sprintf("%s: chain %s %s", f.name(), chain, difference))
		}
	}
	for _, chain := range []string{"INPUT", "FORWARD", chainDocker} {
		jumps, ok := f.jumps()[chain]
		if !ok || f.startsWith(chain, jumps) {
			continue
		}
		have := "is empty"
		if rules := f.chains[chain]; len(rules) > 0 {
			have = "begins with " + quoteAll(specs(rules[:min(len(rules), len(jumps))]))
		}
		drift = append(drift, fmt.Sprintf("%s: chain %s %s, and should begin with %s", f.name(), chain, have, quoteAll(jumps)))
	}
	return drift
}

// differences describes how one of our chains differs from its rules.
func (f *firewall) differences(chain string) []string {
	have, ok := f.chains[chain]
	if !ok {
		return []string{"does not exist, and should"}
	}
	have = slices.DeleteFunc(slices.Clone(have), func(rule listedRule) bool { return isMark(rule.spec) })
	var differences []string
	for i, rule := range f.own()[chain] {
		if !slices.ContainsFunc(have, func(h listedRule) bool { return sameRule(h, rule) }) {
			differences = append(differences, fmt.Sprintf("does not have the rule %q, and should, as number %d", rule, i+1))
		}
	}
	for i, rule := range have {
		if !slices.ContainsFunc(f.own()[chain], func(own string) bool { return sameRule(rule, own) }) {
			differences = append(differences, fmt.Sprintf("has the rule %q as number %d, and should not", rule.spec, i+1))
		}
	}
	if len(differences) == 0 {
		differences = append(differences, "has rules twice or in another order, and should have: "+strings.Join(f.own()[chain], "; "))
	}
	return differences
}

func specs(rules []listedRule) []string {
	texts := make([]string, len(rules))
	for i, rule := range rules {
		texts[i] = rule.spec
	}
	return texts
}

func quoteAll(rules []string) string { return `"` + strings.Join(rules, `", "`) + `"` }

// isCurrent reports whether one of our chains has exactly the expected rules.
func (f *firewall) isCurrent(chain string) bool {
	rules, ok := f.chains[chain]
	rules = slices.DeleteFunc(slices.Clone(rules), func(rule listedRule) bool { return isMark(rule.spec) })
	return ok && slices.EqualFunc(rules, f.own()[chain], sameRule)
}

// startsWith reports whether a chain begins with jumps. FORWARD can begin with Docker's
// chain instead, which begins with ours and rejects everything before the rest of FORWARD:
// Docker inserts its jumps at the top for each network that it creates.
func (f *firewall) startsWith(chain string, jumps []string) bool {
	rules := f.chains[chain]
	if chain == "FORWARD" && len(rules) > 0 && rules[0].spec == "-j "+chainDocker {
		have := slices.DeleteFunc(slices.Clone(rules), func(rule listedRule) bool { return !jumpsToOwnChain(rule.spec) })
		return slices.EqualFunc(have, jumps, sameRule)
	}
	return len(rules) >= len(jumps) && slices.EqualFunc(rules[:len(jumps)], jumps, sameRule)
}

func jumpsToOwnChain(spec string) bool {
	return strings.HasSuffix(spec, " -j "+chainInput) || strings.HasSuffix(spec, " -j "+chainForward)
}

func isMark(spec string) bool {
	return strings.Trim(strings.TrimPrefix(spec, "-m comment --comment "), `"`) == markComment
}

func (f *firewall) marked() bool {
	return slices.ContainsFunc(f.chains[chainInput], func(rule listedRule) bool { return isMark(rule.spec) })
}

// sameRule compares two rules as iptables prints them. Versions differ in whether
// protocols are names or numbers and in whether the match that a protocol implies
// is named.
func sameRule(a listedRule, b string) bool { return a.spec == b || plainRule(a.spec) == plainRule(b) }

func plainRule(rule string) string {
	return strings.NewReplacer("-p 6 ", "-p tcp ", "-p 17 ", "-p udp ", "-m tcp ", "", "-m udp ", "").Replace(rule + " ")
}
