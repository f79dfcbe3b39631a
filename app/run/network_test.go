package run

import (
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/netguard"
)

// resolved returns the plan of a run with settings of the user, of the repository and of
// its own.
func resolved(t *testing.T, user, repository string, own map[string]string) (Plan, error) {
	t.Helper()
	w := &world{}
	if user != "" {
		w.user = userOf(t, user)
	}
	if repository != "" {
		w.repository = repositoryOf(t, repository)
	}
	return runner(w).Resolve(Request{Agent: "shell", Args: []string{"true"}, Settings: overrides(t, own)})
}

func TestAllowedHostsOfARunAreExactlyThoseOfTheFlag(t *testing.T) {
	for name, c := range map[string]struct {
		user, repository string
		own              map[string]string
		network, allow   string
		source           string
	}{
		"a flag implies the allow list":           {"", "", map[string]string{"allow": "example.org"}, "allowlist", "example.org", "--allow"},
		"a flag replaces the settings":            {"allow = [\"a.example.org\"]\nnetwork = \"allowlist\"", "", map[string]string{"allow": "b.example.org"}, "allowlist", "b.example.org", "--allow"},
		"an empty flag allows nothing":            {"allow = [\"a.example.org\"]\nnetwork = \"allowlist\"", "", map[string]string{"allow": "[]"}, "allowlist", "", "--allow"},
		"the settings without a flag":             {"allow = [\"a.example.org\"]\nnetwork = \"allowlist\"", "", nil, "allowlist", "a.example.org", "your settings"},
		"the settings wait for a proxy":           {"allow = [\"a.example.org\"]", "", nil, "local", "a.example.org", ""},
		"a repository shortens":                   {"allow = [\"a.example.org\", \"npm\"]\nnetwork = \"public\"", "allow = [\"npm\"]\nnetwork = \"allowlist\"", nil, "allowlist", "npm", "the repository's .aibox.toml"},
		"a flag goes over a public policy":        {"network = \"public\"", "", map[string]string{"allow": "example.org:22"}, "allowlist", "example.org:22", "--allow"},
		"a flag beside an explicit public policy": {"", "", map[string]string{"allow": "example.org:22", "network": "public"}, "public", "example.org:22", "--allow"},
	} {
		plan, err := resolved(t, c.user, c.repository, c.own)
		spec := plan.Launch.Spec
		if err != nil || spec.Network != c.network || strings.Join(spec.Allow, ",") != c.allow || spec.Sources["allow"] != c.source {
			t.Errorf("%s: network %s, allow %q from %q, %v", name, spec.Network, spec.Allow, spec.Sources["allow"], err)
		}
	}
}

func TestProxyFlagsWithoutAProxyAreRefusedWithAHint(t *testing.T) {
	for _, c := range []struct {
		own  map[string]string
		hint string
	}{
		{map[string]string{"allow": "example.org", "network": "local"}, "--network allowlist"},
		{map[string]string{"deny": "example.org"}, "--network allowlist"},
		{map[string]string{"ask": "true"}, "--network allowlist"},
		{map[string]string{"learn": "true"}, "--network public"},
		{map[string]string{"learn": "true", "allow": "example.org"}, "--network public"},
		{map[string]string{"secret": "HOME=example.org:Authorization"}, "--network allowlist"},
	} {
		_, err := resolved(t, "", "", c.own)
		if fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), "\n"), c.hint) {
			t.Errorf("%v: %v, %q", c.own, err, fault.Hints(err))
		}
	}
	if _, err := resolved(t, "ask = true\ndeny = [\"example.org\"]", "", nil); err != nil {
		t.Errorf("settings that wait for a proxy are refused: %v", err)
	}
}

func TestARepositoryCannotOpenTheNetwork(t *testing.T) {
	for _, file := range []string{
		`network = "allowlist"`, `network = "public"`, `allow = ["example.org"]`, `allow = ["npm"]`, `inspect = ["example.org"]`,
		`secret = ["HOME=example.org:Authorization"]`, `learn = true`, `ask = true`, `egress-upload = 0`, `egress-upload = 512`, `ask-timeout = "2m"`,
	} {
		if _, err := resolved(t, "", file, nil); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), ".aibox.toml:1:") {
			t.Errorf("%s: %v", file, err)
		}
	}
	if _, err := resolved(t, `allow = ["*.example.org"]`, `allow = []`, nil); err != nil {
		t.Errorf("an empty list: %v", err)
	}
	plan, err := resolved(t, "network = \"public\"\ndeny = [\"a.example.org\"]", `deny = ["b.example.org", "*"]`, nil)
	if err != nil || !slices.Equal(plan.Launch.Spec.Deny, []string{"a.example.org", "b.example.org", "*"}) {
		t.Errorf("denied: %q, %v", plan.Launch.Spec.Deny, err)
	}
	destination, _ := netguard.ParseDestination("example.org:443")
	policy, _, err := plan.Launch.Spec.Policy()
	if err != nil {
		t.Fatal(err)
	}
	if v := netguard.NewMatcher(policy).Decide(destination); v.Allowed || v.Rule.String() != "* (your settings and the repository's .aibox.toml)" {
		t.Errorf("%v", v)
	}
}

func TestValuesOfInjectedSecretsAreReadAndNeverRecorded(t *testing.T) {
	t.Setenv("CANARY_TOKEN", "canary-value")
	own := map[string]string{"network": "allowlist", "allow": "example.org", "secret": "CANARY_TOKEN=example.org:Authorization"}
	plan, err := resolved(t, "", "", own)
	if err != nil || plan.Launch.Injected["CANARY_TOKEN"] != "canary-value" {
		t.Fatalf("%v, %v", plan.Launch.Injected, err)
	}
	own["allow"] = "www.example.org"
	if _, err := resolved(t, "", "", own); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "the allow list does not have") {
		t.Errorf("a secret for a host that cannot be reached: %v", err)
	}
	own["allow"] = "example.org"
	for _, value := range []string{"", "short", "two\nlines", "null-null\r"} {
		t.Setenv("CANARY_TOKEN", value)
		if _, err := resolved(t, "", "", own); fault.KindOf(err) != fault.Usage || value != "" && strings.Contains(err.Error(), "two") {
			t.Errorf("%q: %v", value, err)
		}
	}
	for _, text := range []string{"=example.org:Authorization", "A=example.org", "A=:Authorization", "A=example.org:", "A=*.example.org:X", "A=example.org:Host", "A=example.org:Proxy-Authorization", "A=10.0.0.1:X", "A=example.org:a b", "A B=example.org:X"} {
		own["secret"] = `"` + text + `"`
		if _, err := resolved(t, "", "", own); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAnSSHAgentThatDoesNotAnswerIsRefused(t *testing.T) {
	dir := t.TempDir()
	socket := filepath.Join(dir, "agent")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_AUTH_SOCK", socket)
	if err := findSSHAgent(); err != nil {
		t.Error(err)
	}
	_ = listener.Close()
	if err := findSSHAgent(); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "does not answer") || len(fault.Hints(err)) == 0 {
		t.Errorf("%v, %q", err, fault.Hints(err))
	}
}
