package app

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"aibox/netguard"
	"aibox/session/supervisor"
)

func TestNoPolicyAllowsAddressesThatTheSettingsListAsOwn(t *testing.T) {
	a := withSettings(t, "own-addresses = [\"8.8.8.0/24\", \"9.9.9.9\"]\n")
	policy := netguard.NewMatcher(netguard.Policy{Mode: netguard.Public})
	proxy, err := a.openProxy(supervisor.ProxyAccess{
		Policy: policy, Record: func(supervisor.ProxyEvent) string { return "" }, Allow: func(netguard.Request, netguard.Verdict) string { return "" },
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- proxy.Serve(ctx, listener) }()
	defer func() { cancel(); <-served }() //nolint:errcheck // it ends because of cancel
	for _, address := range []string{"8.8.8.8", "9.9.9.9"} {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "CONNECT %s:443 HTTP/1.1\r\n\r\n", address)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusForbidden || !strings.Contains(string(body), netguard.OwnAddress.String()) {
			t.Errorf("%s: %s, %s", address, response.Status, body)
		}
		_ = conn.Close()
		if v := a.DecideAddresses(policy, 443, []netip.Addr{netip.MustParseAddr(address)}); len(v) != 1 || v[0].Verdict.Reason != netguard.OwnAddress {
			t.Errorf("%s is explained as %+v", address, v)
		}
	}
	if v := a.DecideAddresses(policy, 443, []netip.Addr{netip.MustParseAddr("8.8.4.4")}); !v[0].Verdict.Allowed {
		t.Errorf("another address: %+v", v)
	}
}
