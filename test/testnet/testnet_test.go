package testnet

import (
	"context"
	"net"
	"net/netip"
	"testing"

	"aibox/netguard"
)

func TestAHostLooksPublicAndAnswers(t *testing.T) {
	one, other := NewHost(t, 443), NewHost(t, 443)
	if one.Name == other.Name {
		t.Errorf("both are %s", one.Name)
	}
	if reason := netguard.CheckAddress(one.Address); reason != 0 {
		t.Errorf("%s: %s", one.Address, reason)
	}
	conn, err := net.Dial("tcp", one.Name+":443")
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range own {
		if address.(*net.IPNet).IP.String() == one.Address.String() {
			t.Errorf("%s is an address of this machine", address)
		}
	}
}

func TestSpecialNamesResolveToWhatIsNeverAllowed(t *testing.T) {
	for name, want := range map[string]netguard.Reason{
		Loopback: netguard.LoopbackAddress, Private: netguard.PrivateAddress, Metadata: netguard.MetadataAddress, Shared: netguard.SharedAddress,
	} {
		found, err := net.DefaultResolver.LookupNetIP(context.Background(), "ip4", name)
		if err != nil || len(found) != 1 || netguard.CheckAddress(netip.Addr.Unmap(found[0])) != want {
			t.Errorf("%s is %v, %v", name, found, err)
		}
	}
}
