package session

import (
	"slices"
	"testing"

	"aibox/config"
	"aibox/netguard"
)

func TestPolicyOfASpecNamesTheSourceOfEachRule(t *testing.T) {
	spec := Spec{
		Run:        config.Run{Network: "allowlist", Allow: []string{"example.org", "npm", "gitlab", "npm"}, Deny: []string{"bad.example.org"}, Inspect: []string{"example.org"}},
		Sources:    map[string]string{"allow": "your settings", "cloud": "Codex's cloud"},
		CloudHosts: []string{"api.example.net"},
	}
	policy, presets, err := spec.Policy()
	if err != nil {
		t.Fatal(err)
	}
	var rules []string
	for _, rule := range slices.Concat(policy.Allow, policy.Deny, policy.Inspect) {
		rules = append(rules, rule.String())
	}
	want := []string{"example.org (your settings)", "gitlab.com (preset gitlab)", "api.example.net (Codex's cloud)", "bad.example.org (the session's deny list)", "example.org:443 (the session's inspect list)"}
	if !slices.Equal(rules, want) || policy.Mode != netguard.Allowlist || !slices.Equal(presets, []string{"npm"}) {
		t.Errorf("%v: %q, %q", policy.Mode, rules, presets)
	}
	for _, run := range []config.Run{{Allow: []string{"*"}}, {Deny: []string{"npm"}}, {Inspect: []string{"*"}}} {
		if _, _, err := (&Spec{Run: run}).Policy(); err == nil {
			t.Errorf("%+v is a policy", run)
		}
	}
}
