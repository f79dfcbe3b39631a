package control

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"slices"
	"testing"

	"aibox/internal/fault"
	"aibox/session/ports"
)

func TestPortsAreListedAndOpened(t *testing.T) {
	_, client := serveFake(t, t.TempDir())
	found, err := client.Ports(t.Context())
	if want := []ports.Listening{{Address: netip.MustParseAddr("127.0.0.1"), Port: 3000}}; err != nil || !slices.Equal(found, want) {
		t.Errorf("got %v, %v", found, err)
	}
	var updates []ports.Update
	r := ports.Request{Port: 3000, Local: ports.AnyLocal, Address: netip.MustParseAddr("::1")}
	err = client.OpenPort(t.Context(), r, func(u ports.Update) error {
		updates = append(updates, u)
		return nil
	})
	if err != nil || len(updates) != 2 || updates[0].Address != "::1:-1 to 3000" || updates[1].Counts == nil || updates[1].Counts.Sent != 1 {
		t.Errorf("got %+v, %v", updates, err)
	}
}

func TestRefusalArrivesWithItsHints(t *testing.T) {
	_, client := serveFake(t, t.TempDir())
	err := client.OpenPort(t.Context(), ports.Request{Port: 80, Local: 80}, nil)
	refused, ok := errors.AsType[*RefusedError](err)
	if !ok || refused.Message != "port 80 is privileged" || refused.Kind() != fault.Usage || !slices.Equal(refused.Hints, []string{"use --local 0\nor 8080"}) {
		t.Errorf("got %#v", err)
	}
	err = client.OpenPort(t.Context(), ports.Request{Port: 80, Address: netip.MustParseAddr("10.0.0.1")}, nil)
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Kind() != fault.Usage {
		t.Errorf("an address that is not loopback: %v", err)
	}
}

func TestPortIsDialed(t *testing.T) {
	_, client := serveFake(t, t.TempDir())
	conn, err := client.DialPort(t.Context(), 3000)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, _ = io.WriteString(conn, "there")
	_ = conn.CloseWrite()
	if got, err := io.ReadAll(conn); string(got) != "hello there" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := client.DialPort(t.Context(), 4000); !errors.Is(err, ports.ErrNothingListens) {
		t.Errorf("a port without a server: %v", err)
	}
	_, err = client.DialPort(t.Context(), 22)
	if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Kind() != fault.Limit || !slices.Equal(refused.Hints, []string{"wait"}) {
		t.Errorf("a refused dial: %v", err)
	}
	if _, err = client.DialPort(t.Context(), 0); err == nil {
		t.Error("port 0 was dialed")
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := client.DialPort(ended, 3000); err == nil {
		t.Error("a dial with an ended context worked")
	}
}
