package supervisor

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"aibox/config"
	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
)

func TestEveryPolicyProbesItsProxy(t *testing.T) {
	network := runtime.Network{Gateway: netip.MustParseAddr("172.31.240.1"), Subnet: netip.MustParsePrefix("172.31.240.0/29")}
	for _, mode := range netguard.Modes() {
		names := map[string]bool{}
		answers, refusals := 0, 0
		for _, p := range ProbePlan(&session.Spec{Run: config.Run{Network: mode.String()}}, true, network, netip.MustParseAddr("11.1.2.3")).Probes {
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

// The port of the server for own sandboxes is probed in every session: it must answer only
// if the settings permit them.
func TestThePortOfOwnSandboxesAnswersOnlyWhereTheyArePermitted(t *testing.T) {
	network := runtime.Network{Gateway: netip.MustParseAddr("172.31.240.1"), Subnet: netip.MustParsePrefix("172.31.240.0/29")}
	for _, mode := range netguard.Modes() {
		permitted := session.Spec{Run: config.Run{Network: mode.String(), Sandboxes: 2}}
		without, child, verification := permitted, permitted, permitted
		without.Sandboxes = 0
		child.Sandbox, verification.Verifies = &session.SandboxSpec{}, &session.Verifies{}
		for name, c := range map[string]struct {
			spec session.Spec
			want probe.Want
		}{"permitted": {permitted, probe.Answers}, "not permitted": {without, probe.Refused}, "a sandbox": {child, probe.Refused}, "a verification": {verification, probe.Refused}} {
			listens := slices.Contains(c.spec.TCPPorts(), netguard.PortSandboxes)
			if listens != (c.want == probe.Answers) {
				t.Errorf("%s, %s: it listens: %v", mode, name, listens)
			}
			probed := 0
			for _, p := range ProbePlan(&c.spec, true, network, netip.Addr{}).Probes {
				if strings.Contains(p.Target, ":11436") {
					probed++
					if p.Want != c.want {
						t.Errorf("%s, %s: %+v", mode, name, p)
					}
				}
			}
			if probed != 1 {
				t.Errorf("%s, %s: the port is probed %d times", mode, name, probed)
			}
		}
	}
}
