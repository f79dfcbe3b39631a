package cli

import (
	"strings"
	"testing"

	"aibox/agents"
	"aibox/internal/fault"
)

// Before anything is looked for, baked or started.
func TestAnAgentOfAVendorsCloudIsRefusedAtOnce(t *testing.T) {
	t.Setenv("CURSOR_API_KEY", "canary")
	for _, agent := range agents.Builtin().All() {
		info := agent.Info()
		if !info.OwnCloud {
			continue
		}
		_, err := options(func(o *runOptions) { o.agent = info.Name }).launch(agents.Builtin(), noInput(t))
		if fault.KindOf(err) != fault.Refused || len(fault.Hints(err)) == 0 {
			t.Errorf("%s: %v, want a refusal with a hint", info.Name, err)
			continue
		}
		for _, host := range info.Hosts {
			if !strings.Contains(err.Error(), host) {
				t.Errorf("%s: the host %s is not named: %v", info.Name, host, err)
			}
		}
		if strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: the key is told: %v", info.Name, err)
		}
	}
}
