package netguard

import (
	"encoding/json"
	"net/netip"
	"testing"
)

func TestAPolicyLetsThroughItsOwnPortsAndNothingElse(t *testing.T) {
	other := netip.MustParseAddr("10.200.200.2")
	for _, test := range []struct {
		policy Policy
		to     Endpoint
		want   bool
	}{
		{Local, Endpoint{TCP, Address(), PortGateway}, true},
		{Local, Endpoint{TCP, Address(), PortLifeline}, true},
		{Local, Endpoint{UDP, Address(), PortDNS}, true},
		{Local, Endpoint{TCP, Address(), PortDNS}, true},
		{Local, Endpoint{TCP, Address(), PortProxy}, false},
		{Local, Endpoint{UDP, Address(), PortGateway}, false},
		{Local, Endpoint{Other, Address(), PortGateway}, false},
		{Local, Endpoint{TCP, other, PortGateway}, false},
		{Local, Endpoint{TCP, netip.AddrFrom16(Address().As16()), PortGateway}, false}, // ::ffff:10.200.200.1
		{Local, Endpoint{TCP, netip.MustParseAddr("169.254.169.254"), 80}, false},
		{None, Endpoint{TCP, Address(), PortGateway}, false},
		{None, Endpoint{TCP, Address(), PortLifeline}, true},
		{0, Endpoint{TCP, Address(), PortLifeline}, false},
		{99, Endpoint{TCP, Address(), PortGateway}, false},
	} {
		verdict := test.policy.Decide(test.to)
		if verdict.Allowed != test.want || verdict.Rule == "" || verdict.Reason == "" {
			t.Errorf("%v to %v: %+v", test.policy, test.to, verdict)
		}
	}
}

func TestAListenerExistsExactlyForWhatIsAllowed(t *testing.T) {
	for _, policy := range append(Policies(), 0) {
		listening := map[Endpoint]bool{}
		for _, port := range policy.TCPPorts() {
			listening[Endpoint{TCP, Address(), uint16(port)}] = true
		}
		for _, port := range policy.UDPPorts() {
			listening[Endpoint{UDP, Address(), uint16(port)}] = true
		}
		for _, protocol := range []Protocol{Other, TCP, UDP} {
			for port := range 1 << 16 {
				to := Endpoint{protocol, Address(), uint16(port)}
				if policy.Decide(to).Allowed != listening[to] {
					t.Fatalf("%v to %v: allowed and listening differ", policy, to)
				}
			}
		}
	}
}

func TestAPolicyIsWrittenAndReadByName(t *testing.T) {
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

func TestDecidingAllocatesNothing(t *testing.T) {
	to := Endpoint{TCP, netip.MustParseAddr("1.2.3.4"), 443}
	if n := testing.AllocsPerRun(100, func() { Local.Decide(to) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDecide(b *testing.B) {
	to := Endpoint{TCP, Address(), PortGateway}
	for b.Loop() {
		Local.Decide(to)
	}
}
