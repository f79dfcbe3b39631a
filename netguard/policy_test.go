package netguard

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestPolicyListensOnlyOnItsOwnPorts(t *testing.T) {
	for _, test := range []struct {
		policy   Policy
		tcp, udp []int
	}{
		{None, []int{PortLifeline, PortDNS}, []int{PortDNS}},
		{Local, []int{PortGateway, PortLifeline, PortDNS}, []int{PortDNS}},
		{0, nil, nil},
		{99, nil, nil},
	} {
		if tcp, udp := test.policy.TCPPorts(), test.policy.UDPPorts(); !slices.Equal(tcp, test.tcp) || !slices.Equal(udp, test.udp) {
			t.Errorf("%v: TCP %v and UDP %v, want %v and %v", test.policy, tcp, udp, test.tcp, test.udp)
		}
	}
}

func TestPolicyPrintsAndParsesByName(t *testing.T) {
	for _, policy := range Policies() {
		text, err := json.Marshal(policy)
		var back Policy
		if err != nil || json.Unmarshal(text, &back) != nil || back != policy {
			t.Errorf("%v: %s %v", policy, text, err)
		}
	}
	if _, err := json.Marshal(Policy(0)); err == nil {
		t.Error("no policy was written as if it were one")
	}
	for _, name := range []string{"", "public", "LOCAL", "invalid"} {
		if _, err := ParsePolicy(name); err == nil {
			t.Errorf("%q was read", name)
		}
	}
}
