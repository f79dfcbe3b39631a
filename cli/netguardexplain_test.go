package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"aibox/app/run"
	"aibox/internal/fault"
)

func TestExplainNamesTheEntryThatDecidesAndTheCommandThatAllows(t *testing.T) {
	for line, want := range map[string]run.Explanation{
		"a.example.org":               {Allowed: true, Reason: "allowed-by-rule", Rule: "*.example.org", Source: "your settings"},
		"a.example.org --agent codex": {Reason: "not-listed", Command: "aibox run codex --allow=a.example.org"},
		"a.example.org:22":            {Reason: "port-not-listed", Rule: "*.example.org", Source: "your settings", Command: "aibox run '--allow=*.example.org' --allow=a.example.org:22"},
		"a.example.org --deny *.org":  {Reason: "denied-by-rule", Rule: "*.org", Source: "--deny"},
		"example.org --network local": {Reason: "no-egress", Command: "aibox run '--allow=*.example.org' --allow=example.org"},
		"127.0.0.1 --network public":  {Reason: "loopback-address"},
		"8.8.8.8 --allow 8.8.8.8":     {Reason: "own-address"},
		"8.8.8.9":                     {Reason: "own-address"},
		"example.org --allow npm":     {Reason: "not-listed", Presets: []string{"npm"}, Command: "aibox run --allow=npm --allow=example.org"},
	} {
		a, out, _ := testApp(t)
		settingsOf(t, "allow = [\"*.example.org\"]\nnetwork = \"allowlist\"\nown-addresses = [\"8.8.8.0/24\"]\n[agents.codex]\nallow = []\n", "")
		err := a.execute(t.Context(), append([]string{"netguard", "explain", "--json"}, strings.Fields(line)...))
		var got run.Explanation
		if err := json.Unmarshal(out.Bytes(), &got); err != nil {
			t.Errorf("%s: %v in %s", line, err, out)
			continue
		}
		if (err == nil) != want.Allowed || err != nil && fault.KindOf(err) != fault.Refused {
			t.Errorf("%s: %v", line, err)
		}
		if got.Allowed != want.Allowed || got.Reason != want.Reason || got.Rule != want.Rule || got.Source != want.Source || got.Command != want.Command || len(got.Presets) != len(want.Presets) {
			t.Errorf("%s: %+v", line, got)
		}
	}
	for _, line := range []string{"https://example.org", "example.org:0", "example.org:http", "--allow=nmp example.org", "example.org 0zzzz", "", "--agent=nobody example.org"} {
		a, _, _ := testApp(t)
		if err := a.execute(t.Context(), append([]string{"netguard", "explain"}, strings.Fields(line)...)); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q: %v", line, err)
		}
	}
}

func TestTheFlagsOfARunHaveNoEffectOnTheExplanationOfASession(t *testing.T) {
	for _, flag := range []string{"--allow=example.org", "--agent=codex", "--repo=/elsewhere"} {
		a, _, _ := testApp(t)
		storedSession(t, "0dq4f-shell", time.Now())
		err := a.execute(t.Context(), []string{"netguard", "explain", "example.org", "0dq4f", flag})
		if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "flags have no effect") {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestPolicyTestsFailIfADecisionIsNotTheExpectedOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cases")
	if err := os.WriteFile(file, []byte("# comment\nallow a.example.org\n\nrefuse example.org # not below itself\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	long := filepath.Join(t.TempDir(), "long") // what is beyond the limit would not be checked
	if err := os.WriteFile(long, []byte("allow a.example.org\n"+strings.Repeat("#\n", maxCases/2)+"allow example.org\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]fault.Kind{
		"allow a.example.org refuse example.org": -1, "--file " + file: -1, "allow example.org": fault.AgentFailed, "refuse a.example.org --file " + file: fault.AgentFailed,
		"refuse 8.8.8.8 --allow 8.8.8.8": -1, "allow 8.8.8.8 --allow 8.8.8.8": fault.AgentFailed, "allow 9.9.9.9 --allow 9.9.9.9": -1, "--file " + long: fault.Usage,
		"": fault.Usage, "allow": fault.Usage, "deny example.org": fault.Usage, "--file /nonexistent": fault.Usage, "allow https://example.org": fault.Usage,
	} {
		a, out, _ := testApp(t)
		settingsOf(t, "allow = [\"*.example.org\"]\nnetwork = \"allowlist\"\nown-addresses = [\"8.8.8.0/24\"]\n", "")
		err := a.execute(t.Context(), append([]string{"netguard", "test"}, strings.Fields(line)...))
		if (err == nil) != (want < 0) || err != nil && fault.KindOf(err) != want {
			t.Errorf("%q: %v\n%s", line, err, out)
		}
	}
}
