package run

import (
	"slices"
	"strings"
	"testing"

	"aibox/agents"
	"aibox/internal/fault"
	"aibox/netguard"
)

// cloudPlan is the plan of a run of an agent with a task.
func cloudPlan(t *testing.T, agent, user string, own map[string]string) (Plan, error) {
	t.Helper()
	return runner(&world{user: userOf(t, user)}).Resolve(Request{Agent: agent, Prompt: "fix it", Settings: overrides(t, own)})
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
		plan, err := cloudPlan(t, info.Name, "[agents."+info.Name+"]\ncloud = true\n", own)
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
		"not accepted":             {"codex", "", map[string]string{"inference": "cloud"}, fault.Refused, "aibox config set agents.codex.cloud true"},
		"accepted for another":     {"codex", "[agents.cursor]\ncloud = true", map[string]string{"inference": "cloud"}, fault.Refused, "agents.codex.cloud"},
		"the policy is local":      {"cursor", "[agents.cursor]\ncloud = true", map[string]string{"network": "local"}, fault.Refused, "--network allowlist"},
		"the policy is none":       {"cursor", "network = \"none\"\n[agents.cursor]\ncloud = true", nil, fault.Refused, "--network allowlist"},
		"an agent without a cloud": {"aider", "[agents.aider]\ncloud = true", map[string]string{"inference": "cloud"}, fault.Usage, "claude, cursor"},
	} {
		_, err := cloudPlan(t, c.agent, c.user, c.own)
		if fault.KindOf(err) != c.kind || !strings.Contains(strings.Join(fault.Hints(err), "\n"), c.want) {
			t.Errorf("%s: %v, %q", name, err, fault.Hints(err))
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
