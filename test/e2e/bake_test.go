package e2e

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// Behind a firewall, a bake fails soon, and reports which step needed which host, and what
// to do. The host names here do not exist.
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
			printed := "the image of " + agent + " was not built, because " + test.host + " could not be reached: step "
			for _, want := range []string{printed, test.step, "  → builds use HTTP_PROXY", "--image", agent + ":   | "} {
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

func TestACheckNamesWhatNoChecksumPins(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	var states []struct {
		Name     string
		Pinned   bool
		Unpinned []string
	}
	o := m.aibox(0, "bake", "--check", "--json", "--version", "codex=0.1.0")
	if err := json.Unmarshal([]byte(o.stdout), &states); err != nil {
		t.Fatalf("%v\n%s", err, o)
	}
	unpinned := map[string]string{}
	for _, s := range states {
		unpinned[s.Name] = strings.Join(s.Unpinned, "; ")
		if s.Pinned != (unpinned[s.Name] == "") {
			t.Errorf("%s: pinned %v, and not pinned %q", s.Name, s.Pinned, unpinned[s.Name])
		}
	}
	for name, want := range map[string]string{"base": "Debian's packages", "codex": "codex 0.1.0: the lock is of version "} {
		if !strings.Contains(unpinned[name], want) {
			t.Errorf("of %s it says %q", name, unpinned[name])
		}
	}
	for _, name := range []string{"claude", "gemini", "copilot", "crush"} {
		if unpinned[name] != "" {
			t.Errorf("of %s it says %q", name, unpinned[name])
		}
	}
	o = m.aibox(0, "bake", "--check", "--version", "codex=0.1.0")
	for _, want := range []string{"PINNED", "\nNot pinned by checksum:\n", "\n  codex: codex 0.1.0: the lock is of version "} {
		if !strings.Contains(o.stdout, want) {
			t.Errorf("%q is missing:\n%s", want, o)
		}
	}
}
