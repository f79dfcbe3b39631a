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
	chainDocker  = "DOCKER-USER" // Docker's own place for rules that come before its own

	// markComment marks a filter table that was not there before us, so that down
	// can take it away again.
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
	for _, port := range []int{netguard.PortDNS, netguard.PortProxy, netguard.PortGateway, netguard.PortLifeline} {
		input = append(input, to+"-p tcp -m tcp --dport "+strconv.Itoa(port)+" -j ACCEPT")
	}
	input = append(input, to+"-p udp -m udp --dport "+strconv.Itoa(netguard.PortDNS)+" -j ACCEPT")
	return map[string][]string{chainInput: append(input, deny...), chainForward: deny}
}

// jumps returns the rules that must come first in the chains that are not ours. Docker's
// chain gets them too, because Docker puts its jump back on top of FORWARD whenever it
// makes a network.
func (f *firewall) jumps() map[string][]string {
	in, out := "-i "+netguard.BridgePrefix+"+ -j ", "-o "+netguard.BridgePrefix+"+ -j "
	forward := []string{in + chainForward, out + chainForward}
	jumps := map[string][]string{"INPUT": {in + chainInput}, "FORWARD": forward}
	if _, ok := f.chains[chainDocker]; ok {
		jumps[chainDocker] = forward
	}
	return jumps
}

// drift reports what differs from own and jumps.
func (f *firewall) drift() []string {
	var drift []string
	for _, chain := range []string{chainInput, chainForward} {
		if !f.isCurrent(chain) {
			drift = append(drift, fmt.Sprintf("%s: chain %s is not as it should be", f.name(), chain))
		}
	}
	for _, chain := range []string{"INPUT", "FORWARD", chainDocker} {
		if jumps, ok := f.jumps()[chain]; ok && !f.startsWith(chain, jumps) {
			drift = append(drift, fmt.Sprintf("%s: chain %s does not begin with aibox's rules", f.name(), chain))
		}
	}
	return drift
}

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
