package ports

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/peer/peertest"
	"aibox/internal/relay"
)

// forwarding is a Forward that is served until the test ends.
type forwarding struct {
	*Forward
	notices chan string
	stop    func() // and wait
}

// connecting returns a Dial that does nothing at the end of a connection.
func connecting(dial func(context.Context, uint16) (relay.Conn, error)) Dial {
	return func(ctx context.Context, port uint16) (relay.Conn, func(), error) {
		inside, err := dial(ctx, port)
		return inside, func() {}, err
	}
}

// forward opens a port with a request, and serves it.
func forward(t *testing.T, dial func(context.Context, uint16) (relay.Conn, error), r Request) forwarding {
	t.Helper()
	notices := make(chan string, 100)
	f, err := Open(t.Context(), r, connecting(dial), NewSlots(), func(text string) { notices <- text })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var serving sync.WaitGroup
	serving.Go(func() { f.Serve(ctx) })
	stop := func() { cancel(); serving.Wait() }
	t.Cleanup(stop)
	return forwarding{f, notices, stop}
}

func (f forwarding) call(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", f.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// isReset reports whether the forward resets a new connection.
func (f forwarding) isReset(t *testing.T) bool {
	t.Helper()
	conn, err := net.Dial("tcp", f.Address())
	if err == nil {
		defer conn.Close()
		_, err = conn.Read(make([]byte, 1))
	}
	return errors.Is(err, unix.ECONNRESET)
}

func TestForwardJoinsConnectionsAndCountsThem(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	f := forward(t, s.dialer.Dial, Request{Port: 3000})
	one, two := f.call(t), f.call(t)
	roundTrip(t, one, "hello")
	roundTrip(t, two, "there!")
	one.Close()
	f.stop()
	if _, err := io.ReadAll(two); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Errorf("an open connection: %v", err)
	}
	if _, err := net.Dial("tcp", f.Address()); err == nil {
		t.Error("the port is still open")
	}
	if got, want := f.Counts(), (Counts{Connections: 2, Sent: 11, Received: 11}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestConnectionToAPortWithoutAServerIsResetAndReportedOnce(t *testing.T) {
	s := newSandbox(t)
	f := forward(t, s.dialer.Dial, Request{Port: 3000})
	for range 3 {
		if !f.isReset(t) {
			t.Error("the connection is not reset")
		}
	}
	if got := <-f.notices; got != "nothing listens on port 3000 in the sandbox" {
		t.Errorf("got %q", got)
	}
	f.stop()
	if len(f.notices) > 0 || f.Counts() != (Counts{Refused: 3}) {
		t.Errorf("%d more notices, %+v", len(f.notices), f.Counts())
	}
}

func TestProblemThatRecursIsReportedAgain(t *testing.T) {
	s := newSandbox(t)
	s.echo(4000)
	var calls atomic.Int32
	f := forward(t, func(ctx context.Context, _ uint16) (relay.Conn, error) {
		if calls.Add(1)%2 == 1 {
			return nil, ErrNothingListens
		}
		return s.dialer.Dial(ctx, 4000)
	}, Request{Port: 3000})
	for range 2 {
		if !f.isReset(t) {
			t.Error("the connection is not reset")
		}
		roundTrip(t, f.call(t), "hello")
	}
	f.stop()
	if len(f.notices) != 2 {
		t.Errorf("%d notices", len(f.notices))
	}
}

// The sandbox can neither delay the end of a forward nor cause a message after it.
func TestForwardEndsWithoutTheSandbox(t *testing.T) {
	listener := listenPlain(t) // it accepts no connection, so it closes none
	defer listener.Close()
	dials := make(chan struct{})
	f := forward(t, func(ctx context.Context, _ uint16) (relay.Conn, error) {
		dials <- struct{}{}
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			return nil, err
		}
		return conn.(relay.Conn), nil
	}, Request{Port: 3000})
	_, _ = f.call(t), <-dials
	waiting := forward(t, func(ctx context.Context, _ uint16) (relay.Conn, error) {
		dials <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}, Request{Port: 3000, Local: 0})
	_, _ = waiting.call(t), <-dials
	f.stop()
	waiting.stop()
	if len(f.notices)+len(waiting.notices) > 0 || waiting.Counts() != (Counts{Refused: 1}) {
		t.Errorf("%d and %d notices, %+v", len(f.notices), len(waiting.notices), waiting.Counts())
	}
}

func TestConnectionOfAnotherUserIsRefused(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	f := forward(t, s.dialer.Dial, Request{Port: 3000})
	if got := peertest.Dial(t, f.Address()); !strings.Contains(got, "reset") {
		t.Errorf("another user receives %q", got)
	}
	if got := <-f.notices; !strings.Contains(got, "another user of this machine") {
		t.Errorf("got %q", got)
	}
	roundTrip(t, f.call(t), "the user's own processes connect")
}

// The system does not report the user of a client that has ended.
func TestConnectionOfAnUnknownUserIsRefused(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	f, err := Open(t.Context(), Request{Port: 3000}, connecting(s.dialer.Dial), NewSlots(), func(text string) { t.Errorf("notice %q", text) })
	if err != nil {
		t.Fatal(err)
	}
	gone, err := net.Dial("tcp", f.Address())
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var serving sync.WaitGroup
	serving.Go(func() { f.Serve(ctx) })
	roundTrip(t, forwarding{Forward: f}.call(t), "the next one")
	cancel()
	serving.Wait()
	if got := f.Counts(); got.Connections != 1 || got.Refused != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestConnectionsOverTheLimitAreRefused(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	f := forward(t, s.dialer.Dial, Request{Port: 3000})
	var open []net.Conn
	for range MaxConnections {
		open = append(open, f.call(t))
	}
	for _, conn := range open {
		roundTrip(t, conn, "x")
	}
	if !f.isReset(t) {
		t.Error("one more connection is not reset")
	}
	if got := <-f.notices; !strings.Contains(got, "256 are open") {
		t.Errorf("got %q", got)
	}
	open[0].Close()
	for start := time.Now(); ; time.Sleep(time.Millisecond) { // its slot becomes free soon
		conn, err := net.Dial("tcp", f.Address())
		if err == nil {
			_, _ = io.WriteString(conn, "y")
			_, err = conn.Read(make([]byte, 1))
			conn.Close()
		}
		if err == nil {
			break
		}
		if time.Since(start) > time.Minute {
			t.Fatal("no slot is free again")
		}
	}
}

func TestRequestsForOtherAddressesAndPortsAreRefused(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	local := taken.Addr().(*net.TCPAddr).Port
	for _, test := range []struct {
		r    Request
		want string
	}{
		{Request{Port: 3000, Address: netip.MustParseAddr("0.0.0.0")}, "only on this machine's loopback, not on 0.0.0.0"},
		{Request{Port: 3000, Address: netip.MustParseAddr("::")}, "only on this machine's loopback"},
		{Request{Port: 3000, Address: netip.MustParseAddr("192.168.1.7")}, "only on this machine's loopback"},
		{Request{Port: 0}, "from 1 to 65535"},
		{Request{Port: 3000, Local: 65536}, "65536 is not a port"},
		{Request{Port: 3000, Local: -2}, "-2 is not a port"},
		{Request{Port: 3000, Local: local}, "is taken by another program"},
	} {
		_, err := Open(t.Context(), test.r, nil, nil, nil)
		if err == nil || !strings.Contains(err.Error(), test.want) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%+v: %v", test.r, err)
		}
	}
}

func TestLocalPortIsTheSameNumberOrAFreeOne(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := taken.Addr().(*net.TCPAddr).AddrPort().Port()
	open := func(r Request) string {
		t.Helper()
		f, err := Open(t.Context(), r, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer f.listener.Close()
		return f.Address()
	}
	if got := open(Request{Port: port, Local: AnyLocal}); got == taken.Addr().String() {
		t.Errorf("opened on the taken %s", got)
	}
	taken.Close()
	if got := open(Request{Port: port, Local: AnyLocal}); got != taken.Addr().String() {
		t.Errorf("opened on %s, not on %s", got, taken.Addr())
	}
	if got := open(Request{Port: 443, Address: netip.MustParseAddr("::1"), Local: AnyLocal}); !strings.HasPrefix(got, "[::1]:") {
		t.Errorf("opened on %s", got)
	}
}
