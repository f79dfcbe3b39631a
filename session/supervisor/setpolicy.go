package supervisor

import (
	"slices"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/netguard/preset"
	"aibox/session"
)

// sourceSet is the source of rules in lists that were replaced while the sandbox ran.
const sourceSet = "the sandbox's network"

// setLists replaces the lists of a sandbox's policy; see session.NetworkLists. Entries that
// its spec denies stay denied, and those that the user of the machine has denied meanwhile.
func (p *policy) setLists(lists session.NetworkLists, reason string) error {
	p.changing.Lock()
	defer p.changing.Unlock()
	p.mu.Lock()
	rules, proxy := p.rules, p.proxy
	p.mu.Unlock()
	if !rules.Mode.HasProxy() {
		return fault.New(fault.Usage, "the sandbox was created with the network policy %s, which has no way out and no lists", rules.Mode).
			Hint("create it with an allow list, which may be empty")
	}
	if proxy == nil {
		return fault.New(fault.Conflict, "the sandbox's network is not ready yet")
	}
	event := audit.PolicyChange{Reason: reason}
	if lists.Allow != nil {
		allow, err := parseNewAllow(*lists.Allow)
		if err != nil {
			return err
		}
		rules.Allow, event.Allow, event.Replaced = allow, patterns(session.ListsOf(netguard.Policy{Allow: allow}).Allow), append(event.Replaced, "allow")
	}
	if lists.Deny != nil {
		deny, err := parseNewDeny(slices.Concat(p.session.launch.Spec.Sandbox.Denied, *lists.Deny))
		if err != nil {
			return err
		}
		deny = slices.Concat(deniedLater(rules.Deny), deny) // the same entry in both is denied for two reasons
		rules.Deny, event.Deny, event.Replaced = deny, patterns(session.ListsOf(netguard.Policy{Deny: deny}).Deny), append(event.Replaced, "deny")
	}
	for _, rule := range rules.Uninspected() {
		return fault.New(fault.Usage, "%q allows single requests, which needs a host whose traffic is inspected from the start", rule.Pattern)
	}
	if lists.Allow != nil { // presets of the list that it replaces must not be added to it
		p.mu.Lock()
		p.presets = nil
		p.mu.Unlock()
	}
	_, err := p.apply(rules, proxy, event)
	return err
}

// parseNewAllow parses an allow list. A preset whose hosts are printed by tools in the
// sandbox is refused: the sandbox's programs could have changed these tools.
func parseNewAllow(words []string) ([]netguard.Rule, error) {
	rules := []netguard.Rule{}
	for _, word := range words {
		entry, err := preset.ParseAllow(word)
		if err != nil {
			return nil, err
		}
		if entry.Preset == "" {
			rules = addRules(rules, []netguard.Rule{{Pattern: entry.Pattern, Source: sourceSet}})
			continue
		}
		found, _ := preset.Find(entry.Preset)
		if found.Asks() {
			return nil, fault.New(fault.Usage, "the preset %s can only be allowed when a sandbox is created", found.Name).Hint("name the hosts")
		}
		rules = addRules(rules, found.Static().Rules)
	}
	return rules, nil
}

func parseNewDeny(words []string) ([]netguard.Rule, error) {
	rules := []netguard.Rule{}
	for _, word := range words {
		pattern, err := preset.ParseDeny(word)
		if err != nil {
			return nil, err
		}
		rules = addRules(rules, []netguard.Rule{{Pattern: pattern, Source: sourceSet}})
	}
	return rules, nil
}
