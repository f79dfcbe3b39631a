package session

import (
	"slices"
	"testing"

	"aibox/config"
)

func TestReachNamesWhatTheSandboxCanReach(t *testing.T) {
	five := []string{"a.example", "b.example", "c.example", "npm", "d.example"}
	for _, c := range []struct {
		spec         Spec
		reach, exits string
		notices      []string
	}{
		{Spec{Run: config.Run{Network: "none", Allow: five}}, "policy none", "", nil},
		{Spec{Run: config.Run{Network: "local", Allow: five, InferenceTools: []string{"mcp"}}}, "policy local", "mcp", nil},
		{Spec{Run: config.Run{Network: "allowlist"}}, "policy allowlist: no host", "", nil},
		{
			Spec{Run: config.Run{Network: "allowlist", Allow: five, Ask: true}},
			"policy allowlist: a.example, b.example, c.example, npm and 1 more; asks about others", "5 allowed hosts",
			[]string{"The agent can send anything in its workspace to these hosts: a.example, b.example, c.example, npm and 1 more."},
		},
		{
			Spec{Run: config.Run{Network: "allowlist"}, CloudHosts: []string{"x.example"}, Sources: map[string]string{"cloud": "Codex's cloud"}},
			"policy allowlist: Codex's cloud", "its vendor's cloud",
			[]string{"The agent talks to its vendor's servers (x.example): aibox sees how much it sends, not what."},
		},
		{
			Spec{Run: config.Run{Network: "public", Deny: []string{"a.example"}}},
			"policy public: every public host but a.example", "every public host",
			[]string{"The agent can send anything in its workspace to any public host."},
		},
	} {
		if c.spec.Reach() != c.reach || c.spec.Exits() != c.exits || !slices.Equal(c.spec.ReachNotices(), c.notices) {
			t.Errorf("%q, %q, %q", c.spec.Reach(), c.spec.Exits(), c.spec.ReachNotices())
		}
	}
}
