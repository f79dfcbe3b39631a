package e2e

import (
	"strings"
	"testing"
	"time"
)

// Behind a firewall a bake fails soon, and a person sees which step of it wanted
// which host, and what to do. The names here exist nowhere.
func TestABakeBehindAFirewallNamesTheHostAndTheWayOut(t *testing.T) {
	t.Parallel()
	for agent, test := range map[string]struct{ setting, host, step string }{
		"aider":  {"PIP_INDEX_URL=https://packages.invalid/simple", "packages.invalid", "/opt/aider"},
		"cursor": {"HTTPS_PROXY=http://proxy.invalid:3128", "proxy.invalid", "dpkg"},
	} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t)
			m.env = append(m.env, test.setting)
			begin := time.Now()
			o := m.aibox(3, "bake", agent)
			said := "the image of " + agent + " was not built, because " + test.host + " could not be reached: step "
			for _, want := range []string{said, test.step, "  → builds go by your HTTP_PROXY", "--image", agent + ":   | "} {
				if !strings.Contains(o.stderr, want) {
					t.Errorf("%q is missing:\n%s", want, o)
				}
			}
			if took := time.Since(begin); took > time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}
