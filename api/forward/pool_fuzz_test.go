package forward

import (
	"context"
	"net"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/session"
)

// dialed records the ports to which connections were requested.
type dialed struct{ hops []hop }

func (d *dialed) DialPort(_ context.Context, tenant session.Tenant, sandbox string, port uint16) (net.Conn, error) {
	d.hops = append(d.hops, hop{target: target{sandbox: sandbox, port: port}, caller: credential{Caller: Caller{Tenant: tenant}}})
	return nil, fault.New(fault.NotFound, "there is no such sandbox")
}

// An address in the pool names one port of one tenant, and there is only one address of it.
func FuzzPoolAddress(f *testing.F) {
	genuine := hop{target: target{sandbox: "0dq4f-a", port: 3000}, caller: credential{Caller: Caller{Tenant: "alice"}}}
	f.Add(genuine.address())
	f.Add("127.0.0.1:80")
	f.Add("[::1]:80")
	f.Add("0dq4f-a.zz:1")
	f.Add("0dq4f-a.61:0")
	f.Add("-a.61:1")
	f.Add("0dq4f-a..616c696365:3000")
	f.Fuzz(func(t *testing.T, address string) {
		dialer := &dialed{}
		if _, err := newPool(dialer).dial(t.Context(), "tcp", address); err == nil {
			t.Errorf("%q was reached", address)
		}
		for _, h := range dialer.hops {
			if !isID(h.target.sandbox) || h.target.port == 0 || !strings.EqualFold(h.address(), address) {
				t.Errorf("%q reaches %+v", address, h)
			}
		}
	})
}
