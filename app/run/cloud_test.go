package run

import (
	"slices"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/netguard"
)

// cloudPlan returns the plan of a run of an agent with a task, and with a variable that may
// hold a key.
func cloudPlan(t *testing.T, agent, user string, own map[string]string) (Plan, error) {
	t.Helper()
	settings := overrides(t, own)
	if err := settings.SetWords("env", []string{"ACCOUNT=x"}); err != nil {
		t.Fatal(err)
	}
	return runner(&world{user: userOf(t, user)}).Resolve(Request{Agent: agent, Prompt: "fix it", Settings: settings})
}

func TestAnAcceptedCloudIsAllowedAndNothingElse(t *testing.T) {
	for _, agent := range agents.Builtin().All() {
		info := agent.Info()
		if !info.OwnCloud && !info.HasCloud {
			continue
		}
		own := map[string]string{"inference": "cloud"}
		if info.OwnCloud {
			own = nil
		}
		plan, err := cloudPlan(t, info.Name, acceptedCloud(info.Name, info.Hosts...), own)
		if err != nil || plan.Launch.Spec.Network != "allowlist" || !slices.Equal(plan.Launch.Spec.CloudHosts, info.Hosts) {
			t.Errorf("%s: %s, %q, %v", info.Name, plan.Launch.Spec.Network, plan.Launch.Spec.CloudHosts, err)
			continue
		}
		policy, presets, err := plan.Launch.Spec.Policy()
		if err != nil || len(presets) > 0 || len(policy.Allow) != len(info.Hosts) {
			t.Errorf("%s: %v, %v", info.Name, policy, err)
		}
		for _, rule := range policy.Allow {
			if rule.Source != info.Title+"'s cloud" {
				t.Errorf("%s: %s", info.Name, &rule)
			}
		}
	}
}

func TestACloudThatIsNotAcceptedOrCannotBeReachedIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		agent, user string
		own         map[string]string
		kind        fault.Kind
		want        string
	}{
		"not accepted":             {"codex", "", map[string]string{"inference": "cloud"}, fault.Refused, "aibox config set agents.codex.cloud 'api.openai.com,chatgpt.com,auth.openai.com'"},
		"accepted for another":     {"codex", acceptedCloud("cursor", "*.openai.com", "chatgpt.com"), map[string]string{"inference": "cloud"}, fault.Refused, "agents.codex.cloud"},
		"the policy is local":      {"cursor", acceptedCloud("cursor", "cursor.com", "*.cursor.sh"), map[string]string{"network": "local"}, fault.Refused, "--network allowlist"},
		"the policy is none":       {"cursor", "network = \"none\"\n" + acceptedCloud("cursor", "cursor.com", "*.cursor.sh"), nil, fault.Refused, "--network allowlist"},
		"an agent without a cloud": {"aider", acceptedCloud("aider", "raw.githubusercontent.com"), map[string]string{"inference": "cloud"}, fault.Usage, "claude, cursor"},
	} {
		_, err := cloudPlan(t, c.agent, c.user, c.own)
		if fault.KindOf(err) != c.kind || !strings.Contains(strings.Join(fault.Hints(err), "\n"), c.want) {
			t.Errorf("%s: %v, %q", name, err, fault.Hints(err))
		}
	}
}

// acceptedCloud returns a settings file that accepts hosts of an agent's cloud.
func acceptedCloud(agent string, hosts ...string) string {
	return "[agents." + agent + "]\ncloud = [\"" + strings.Join(hosts, "\", \"") + "\"]\n"
}

// A later version of aibox may have more hosts of a vendor than the user has accepted.
func TestOnlyTheAcceptedHostsOfACloudCount(t *testing.T) {
	for user, want := range map[string]string{
		acceptedCloud("cursor", "cursor.com", "api2.cursor.sh", "*.cursor.sh"):  "",
		acceptedCloud("cursor", "CURSOR.com", "*.cursor.sh"):                    "",
		acceptedCloud("cursor", "cursor.com", "*.cursor.sh", "old.example.org"): "",
		acceptedCloud("cursor", "cursor.com", "api2.cursor.sh"):                 "more of its vendor's servers than you have accepted (*.cursor.sh)",
		acceptedCloud("cursor", "cursor.com:22", "*.cursor.sh"):                 "than you have accepted (cursor.com)",
		acceptedCloud("cursor", "https://cursor.com/login", "*.cursor.sh"):      "than you have accepted (cursor.com)",
		acceptedCloud("cursor", "evil.example.org"):                             "talks to its vendor's servers (cursor.com, api2.cursor.sh, *.cursor.sh)",
		"[agents.cursor]\ncloud = []\n":                                         "talks to its vendor's servers (cursor.com",
		"[agents.cursor]\ncloud = true\n":                                       "talks to its vendor's servers (cursor.com", // from an earlier version
		"[agents.cursor]\ncloud = false\n":                                      "talks to its vendor's servers (cursor.com",
	} {
		_, err := cloudPlan(t, "cursor", user, nil)
		if want == "" && err != nil || want != "" && (fault.KindOf(err) != fault.Refused || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", user, err)
		}
	}
	_, err := cloudPlan(t, "cursor", acceptedCloud("cursor", "cursor.com", "old.example.org"), nil)
	unaccepted, ok := IsUnacceptedCloud(err)
	if !ok {
		t.Fatal(err)
	}
	if key, value := unaccepted.Accept(); key != "agents.cursor.cloud" || value != "cursor.com,old.example.org,api2.cursor.sh,*.cursor.sh" {
		t.Errorf("%s %s", key, value)
	}
	if hints := strings.Join(fault.Hints(err), "\n"); !strings.Contains(hints, "aibox config set agents.cursor.cloud 'cursor.com,old.example.org,api2.cursor.sh,*.cursor.sh'") {
		t.Error(hints)
	}
}

func TestAHostOfACloudIsAnEntryOfAnAllowList(t *testing.T) {
	for _, word := range []string{"true", "false", "*", "*.com", "127.0.0.1", "a b"} {
		if err := ListChecks()["cloud"](word); fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", word, err)
		}
	}
}

func TestHostsOfEveryAgentAreEntriesOfAnAllowList(t *testing.T) {
	for _, agent := range agents.Builtin().All() {
		info := agent.Info()
		if info.OwnCloud && len(info.Hosts) == 0 {
			t.Errorf("%s has no hosts", info.Name)
		}
		for _, host := range info.Hosts {
			if _, err := netguard.ParseAllow(host); err != nil {
				t.Errorf("%s: %v", info.Name, err)
			}
		}
	}
}
