package forward

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"

	"aibox/session"
)

// pipes is a Dialer that keeps the other ends of its connections.
type pipes struct{ ends []net.Conn }

func (p *pipes) DialPort(context.Context, session.Tenant, string, uint16) (net.Conn, error) {
	here, there := net.Pipe()
	p.ends = append(p.ends, there)
	return here, nil
}

// isClosed reports whether the other end of a connection is closed.
func isClosed(end net.Conn) bool {
	_, err := end.Read(make([]byte, 1))
	return err != nil
}

func TestThePoolClosesAllItsConnections(t *testing.T) {
	dialed := &pipes{}
	p := newPool(dialed)
	dial := func() (net.Conn, error) { return p.dial(t.Context(), "tcp", "0dq4f-a.616c696365:3000") }
	first, err := dial()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dial(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil || len(p.open) != 1 || !isClosed(dialed.ends[0]) {
		t.Errorf("after one was closed, %d are open, %v", len(p.open), err)
	}
	p.close()
	if !isClosed(dialed.ends[1]) {
		t.Error("an open connection stays open")
	}
	if _, err := dial(); !errors.Is(err, net.ErrClosed) || !isClosed(dialed.ends[2]) {
		t.Errorf("after the end: %v", err)
	}
}

func TestThePoolDialsOnlyAddressesOfPorts(t *testing.T) {
	dialed := &pipes{}
	p := newPool(dialed)
	defer p.close()
	for _, address := range []string{
		"", "0dq4f-a.616c696365", "0dq4f-a:3000", "0dq4f-a.alice:3000", "0dq4f-a.616c696365:0", "0dq4f-a.616c696365:65536", "..616c696365:3000", ".616c696365:3000", "0dq4f-a/x.616c696365:3000",
	} {
		if _, err := p.dial(t.Context(), "tcp", address); !errors.Is(err, errAddress) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if len(dialed.ends) > 0 {
		t.Errorf("%d connections were made", len(dialed.ends))
	}
}

func TestHeadersOfAnAnswerHaveALimit(t *testing.T) {
	w := newWorld(t, func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("X-Long", strings.Repeat("x", 2*maxHeader))
		hello(out, r)
	})
	if got := w.do("GET", byPath+"/", bearer); got.StatusCode != http.StatusBadGateway || got.Header.Get("X-Long") != "" {
		t.Errorf("%d with %d bytes", got.StatusCode, len(got.Header.Get("X-Long")))
	}
}
