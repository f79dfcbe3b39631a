package netguard

import (
	"encoding/json"
	"slices"
	"testing"
)

func TestModeListensOnlyOnItsOwnPorts(t *testing.T) {
	for _, test := range []struct {
		mode     Mode
		tcp, udp []int
	}{
		{None, []int{PortLifeline, PortDNS}, []int{PortDNS}},
		{Local, []int{PortGateway, PortLifeline, PortDNS}, []int{PortDNS}},
		{Allowlist, []int{PortGateway, PortProxy, PortLifeline, PortDNS}, []int{PortDNS}},
		{Public, []int{PortGateway, PortProxy, PortLifeline, PortDNS}, []int{PortDNS}},
		{0, nil, nil},
		{99, nil, nil},
	} {
		if tcp, udp := test.mode.TCPPorts(), test.mode.UDPPorts(); !slices.Equal(tcp, test.tcp) || !slices.Equal(udp, test.udp) {
			t.Errorf("%v: TCP %v and UDP %v, want %v and %v", test.mode, tcp, udp, test.tcp, test.udp)
		}
	}
}

func TestModePrintsAndParsesByName(t *testing.T) {
	for _, mode := range Modes() {
		text, err := json.Marshal(mode)
		var back Mode
		if err != nil || json.Unmarshal(text, &back) != nil || back != mode {
			t.Errorf("%v: %s %v", mode, text, err)
		}
	}
	if _, err := json.Marshal(Mode(0)); err == nil {
		t.Error("no mode was written as if it were one")
	}
	for _, name := range []string{"", "open", "LOCAL", "invalid"} {
		if _, err := ParseMode(name); err == nil {
			t.Errorf("%q was read", name)
		}
	}
}
