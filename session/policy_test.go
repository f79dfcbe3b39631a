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

func TestAnAllowListReachesLessThanThePolicyPublic(t *testing.T) {
	public := config.Run{Network: "public"}
	strict := config.Run{Network: "public", Allow: []string{"git.example.com:22", "https://api.example.com/v1/**"}, Deny: []string{"evil.example.com"}, Inspect: []string{"api.example.com", "seen.example.org"}}
	for name, c := range map[string]struct {
		now    config.Run
		change func(next *config.Run)
		less   bool
	}{
		"a host":                       {public, func(r *config.Run) { r.Allow = []string{"a.example.com"} }, true},
		"no host":                      {public, func(*config.Run) {}, true},
		"domains and usual ports":      {public, func(r *config.Run) { r.Allow = []string{"*.example.com", "b.example.org:443", "c.example.org:80"} }, true},
		"another port":                 {public, func(r *config.Run) { r.Allow = []string{"a.example.com:22"} }, false},
		"every port":                   {public, func(r *config.Run) { r.Allow = []string{"a.example.com:*"} }, false},
		"a preset with hosts":          {public, func(r *config.Run) { r.Allow = []string{"github"} }, true},
		"a preset of the image":        {public, func(r *config.Run) { r.Allow = []string{"npm"} }, false},
		"not a host":                   {public, func(r *config.Run) { r.Allow = []string{"*"} }, false},
		"public itself":                {public, func(r *config.Run) { r.Network = "public" }, false},
		"not a policy":                 {public, func(r *config.Run) { r.Network = "all" }, false},
		"within an allow list":         {config.Run{Network: "allowlist"}, func(*config.Run) {}, false},
		"within a local network":       {config.Run{Network: "local"}, func(*config.Run) {}, false},
		"beside what is restricted":    {strict, func(r *config.Run) { r.Allow = []string{"a.example.com", "git.example.com:22"} }, true},
		"what is restricted":           {strict, func(r *config.Run) { r.Allow = []string{"api.example.com"} }, false},
		"around what is restricted":    {strict, func(r *config.Run) { r.Allow = []string{"*.example.com"} }, false},
		"the restriction itself":       {strict, func(r *config.Run) { r.Allow = []string{"https://api.example.com/v1/**"} }, false},
		"what is inspected":            {strict, func(r *config.Run) { r.Allow = []string{"seen.example.org"} }, true},
		"what is not inspected":        {strict, func(r *config.Run) { r.Allow, r.Inspect = []string{"seen.example.org"}, nil }, false},
		"around what is not inspected": {strict, func(r *config.Run) { r.Allow, r.Inspect = []string{"*.example.org"}, nil }, false},
		"what is denied":               {strict, func(r *config.Run) { r.Allow = []string{"evil.example.com"} }, true},
		"what is not denied":           {strict, func(r *config.Run) { r.Deny = nil }, false},
	} {
		next := c.now
		next.Network, next.Allow = "allowlist", []string{}
		if c.change(&next); ReachesLess(&next, &c.now) != c.less {
			t.Errorf("%s: %v", name, !c.less)
		}
	}
}
