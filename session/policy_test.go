package session

import (
	"testing"

	"aibox/config"
	"aibox/netguard"
)

func TestPolicyOfASpecNamesTheSourceOfEachRule(t *testing.T) {
	spec := Spec{
		Run:        config.Run{Network: "allowlist", Allow: []string{"example.org", "npm", "gitlab", "*", "npm"}, Deny: []string{"bad.example.org"}},
		Sources:    map[string]string{"allow": "your settings", "cloud": "Codex's cloud"},
		CloudHosts: []string{"api.example.net", "*"},
	}
	var rules []string
	policy := spec.Policy()
	for _, rule := range append(policy.Allow, policy.Deny...) {
		rules = append(rules, rule.String())
	}
	want := []string{"example.org (your settings)", "gitlab.com (preset gitlab)", "api.example.net (Codex's cloud)", "bad.example.org (--deny)"}
	if len(rules) != len(want) || policy.Mode != netguard.Allowlist {
		t.Fatalf("%v: %q", policy.Mode, rules)
	}
	for i, rule := range rules {
		if rule != want[i] {
			t.Errorf("%q, want %q", rule, want[i])
		}
	}
	if presets := spec.Presets(); len(presets) != 1 || presets[0].Name != "npm" {
		t.Errorf("%v", presets)
	}
	spec.Network = "local"
	if policy := spec.Policy(); len(policy.Allow) > 0 || spec.Presets() != nil {
		t.Errorf("a policy without a proxy has %v", policy)
	}
}
