package supervisor

import (
	"net/netip"
	"testing"

	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/runtime"
)

func TestEveryPolicyProbesItsProxy(t *testing.T) {
	network := runtime.Network{Gateway: netip.MustParseAddr("172.31.240.1"), Subnet: netip.MustParsePrefix("172.31.240.0/29")}
	for _, mode := range netguard.Modes() {
		names := map[string]bool{}
		answers, refusals := 0, 0
		for _, p := range ProbePlan(mode, true, network, netip.MustParseAddr("11.1.2.3")).Probes {
			if names[p.Name] {
				t.Errorf("%s: two probes are named %q", mode, p.Name)
			}
			names[p.Name] = true
			throughProxy := p.Via == proxyAddress() || p.Target == proxyURL()+"/"
			switch {
			case throughProxy && p.Want == probe.Answers:
				answers++
			case throughProxy:
				refusals++
			}
		}
		wantAnswers, wantRefusals := 0, 1
		if mode.HasProxy() {
			wantAnswers, wantRefusals = 1, 8
		}
		if mode == netguard.Allowlist {
			wantRefusals++
		}
		if answers != wantAnswers || refusals != wantRefusals {
			t.Errorf("%s: %d requests to the proxy must be answered, %d refused", mode, answers, refusals)
		}
	}
}
