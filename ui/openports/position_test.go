package openports

import (
	"net/netip"
	"testing"

	"aibox/session/ports"
)

func TestALongListShowsWhichPortsAreHidden(t *testing.T) {
	var found []ports.Listening
	for i := range 70 {
		found = append(found, ports.Listening{Port: uint16(3000 + i), Address: netip.MustParseAddr("127.0.0.1")})
	}
	newUser(t, 80, 24, found...).Scrolls(70, "end")
}
