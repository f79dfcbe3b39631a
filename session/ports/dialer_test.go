package ports

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/files"
	"aibox/internal/lifeline"
	"aibox/internal/relay"
)

func number(n int) string { return strconv.Itoa(n) }

// dialed connects to a port.
func dialed(t *testing.T, s *fakeSandbox, port uint16) net.Conn {
	t.Helper()
	conn, err := s.dialer.Dial(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// roundTrip sends text and expects it back.
func roundTrip(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(conn, got); err != nil || string(got) != text {
		t.Fatalf("got %q, %v", got, err)
	}
}

func TestPortOfTheSandboxIsDialed(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	s.echo(4000)
	one, two := dialed(t, s, 3000), dialed(t, s, 4000)
	roundTrip(t, one, "one")
	roundTrip(t, two, "two")
	if _, err := s.dialer.Dial(t.Context(), 5000); !errors.Is(err, ErrNothingListens) {
		t.Errorf("a port without a server: %v", err)
	}
}

func TestManyPortsAreDialedAtOnce(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	var dialing sync.WaitGroup
	for i := range 3 * maxPending {
		dialing.Go(func() {
			conn, err := s.dialer.Dial(t.Context(), 3000)
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			roundTrip(t, conn, number(i))
		})
	}
	dialing.Wait()
}

func TestSandboxCannotConnectUnlessADialWaits(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	refused := func(when string) {
		t.Helper()
		if conn, err := s.call(); err == nil {
			conn.Close()
			t.Errorf("the sandbox can connect %s", when)
		} else if !errors.Is(err, unix.ECONNREFUSED) {
			t.Error(err)
		}
	}
	refused("before a dial")
	conn := dialed(t, s, 3000)
	refused("after a dial")
	roundTrip(t, conn, "and the connection remains")
	_, _ = s.dialer.Dial(t.Context(), 5000)
	refused("after a failed dial")
}

func TestConnectionsWithoutAValidTokenAreClosedAndReported(t *testing.T) {
	for name, send := range map[string]func(d lifeline.Dial) []byte{
		"another token": func(lifeline.Dial) []byte {
			random := make([]byte, lifeline.TokenSize)
			_, _ = rand.Read(random)
			return random
		},
		"a hello, as the lifeline": func(lifeline.Dial) []byte {
			return append([]byte("\x41\x00\x00\x00\x20"), bytes.Repeat([]byte(" "), 32)...)
		},
		"a token cut short": func(d lifeline.Dial) []byte { return d.Token[:31] },
		"nothing":           func(lifeline.Dial) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			s.echo(3000)
			s.dial = func(d lifeline.Dial) {
				forged, err := s.call()
				if err != nil {
					t.Error(err)
					return
				}
				defer forged.Close()
				_, _ = forged.Write(send(d))
				_ = forged.CloseWrite()
				_, _ = io.ReadAll(forged) // until it is closed
				if got := s.refusals(1); !strings.Contains(got, "did not ask for this connection") {
					t.Errorf("refused: %q", got)
				}
				s.connect(d)
			}
			conn := dialed(t, s, 3000)
			roundTrip(t, conn, "the true connection works")
		})
	}
}

func TestTokenIsValidOnce(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	s.echo(4000)
	tokens := make(chan []byte, 2)
	release := make(chan struct{})
	s.dial = func(d lifeline.Dial) {
		tokens <- d.Token
		if d.Port == 4000 { // it keeps the dialer listening
			<-release
		}
		s.connect(d)
	}
	waiting := make(chan net.Conn, 1)
	go func() {
		conn, _ := s.dialer.Dial(t.Context(), 4000)
		waiting <- conn
	}()
	<-tokens
	conn := dialed(t, s, 3000)
	again, err := s.call()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	_, _ = again.Write(<-tokens)
	if _, err := io.ReadAll(again); err != nil && !errors.Is(err, unix.ECONNRESET) {
		t.Error(err)
	}
	if got := s.refusals(1); !strings.Contains(got, "did not ask") {
		t.Errorf("refused: %q", got)
	}
	roundTrip(t, conn, "the first one remains")
	close(release)
	if conn := <-waiting; conn == nil {
		t.Error("the other dial failed")
	} else {
		conn.Close()
	}
}

// PID 1 can connect, no matter how many silent connections a program in the sandbox holds
// open.
func TestFloodOfConnectionsIsBoundedAndDialsStillWork(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	var flood []net.Conn
	s.dial = func(d lifeline.Dial) {
		for range 4 * maxUnknown {
			if conn, err := s.call(); err == nil {
				flood = append(flood, conn)
			}
		}
		if got := s.refusals(3 * maxUnknown); !strings.Contains(got, "too many connections at once") { // the oldest were closed
			t.Errorf("refused: %q", got)
		}
		_ = flood[0].SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := flood[0].Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the oldest connection is still open: %v", err)
		}
		if open := s.unknown(); open > maxUnknown {
			t.Errorf("%d unknown connections are open", open)
		}
		s.connect(d)
	}
	roundTrip(t, dialed(t, s, 3000), "still there")
	for _, conn := range flood {
		conn.Close()
	}
	s.refusals(4 * maxUnknown)
	if open := s.unknown(); open > 0 {
		t.Errorf("%d unknown connections are left", open)
	}
}

func TestSilentConnectionIsClosedWhileDialedOnesStay(t *testing.T) {
	s := newSandbox(t)
	s.echo(3000)
	first := dialed(t, s, 3000)
	s.dial = func(d lifeline.Dial) {
		silent, err := s.call()
		if err != nil {
			t.Error(err)
			return
		}
		defer silent.Close()
		_ = silent.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := silent.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("a connection that sends no token: %v", err)
		}
		s.connect(d)
	}
	roundTrip(t, dialed(t, s, 3000), "the second one")
	roundTrip(t, first, "has no deadline of the token any more")
}

func TestConnectionThatComesTooLateIsClosed(t *testing.T) {
	s := newSandbox(t)
	listener := listenPlain(t)
	defer listener.Close()
	late, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.dialer.dial(t.Context(), portRefusal, func(p *pendingDial) error {
		if s.dialer.deliver(p.token, late.(relay.Conn)); s.dialer.deliver(p.token, late.(relay.Conn)) {
			t.Error("its token is valid twice")
		}
		return errors.New("nobody waits any more")
	})
	if !errors.Is(err, ErrEnded) {
		t.Errorf("got %v", err)
	}
	if err := late.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the connection is still open: %v", err)
	}
}

// The missing bytes of a short token are not read as zeros.
func TestShortTokenIsRefused(t *testing.T) {
	s := newSandbox(t)
	p := &pendingDial{token: token{1}, conn: make(chan relay.Conn, 1)}
	s.dialer.pending[p.token] = p
	listener := listenPlain(t)
	defer listener.Close()
	far, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = far.Write(p.token[:lifeline.TokenSize-1])
	far.Close()
	short, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s.dialer.enter(short)
	s.dialer.identify(short)
	if got := s.refusals(1); len(p.conn) > 0 || !strings.Contains(got, "did not ask") {
		t.Errorf("refused: %q", got)
	}
}

func TestDialDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDialer(nil, func(lifeline.Type, any) error { return nil }, nil)
		d.accepting, d.pending[token{}] = true, &pendingDial{} // so that the listener is not needed
		begin := time.Now()
		if _, err := d.Dial(t.Context(), 3000); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != dialTimeout {
			t.Errorf("got %v after %v", err, time.Since(begin))
		}
	})
}

func TestDialsFailWithTheirListener(t *testing.T) {
	s := newSandbox(t)
	s.dial = func(lifeline.Dial) { s.listen.Close() }
	if _, err := s.dialer.Dial(t.Context(), 3000); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

func TestListenerThatCannotBePausedIsClosed(t *testing.T) {
	listener := listenPlain(t)
	Pause(struct{ net.Listener }{listener})
	if err := listener.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("it is still open: %v", err)
	}
}

// unknown returns the number of connections that have not sent a token.
func (s *fakeSandbox) unknown() int {
	s.dialer.mu.Lock()
	defer s.dialer.mu.Unlock()
	return len(s.dialer.unknown)
}

func TestDialEndsWithItsContextAndWithTheDialer(t *testing.T) {
	s := newSandbox(t)
	asked := make(chan lifeline.Dial, 2)
	s.dial = func(d lifeline.Dial) { asked <- d }
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, err := s.dialer.Dial(ctx, 3000); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if _, err := s.call(); !errors.Is(err, unix.ECONNREFUSED) {
		t.Errorf("the sandbox can connect after a dial without an answer: %v", err)
	}
	go func() { <-asked; s.dialer.Close() }()
	if _, err := s.dialer.Dial(t.Context(), 3000); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v", err)
	}
	if _, err := s.dialer.Dial(t.Context(), 3000); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v", err)
	}
	if _, err := s.dialer.List(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v", err)
	}
	if _, err := s.call(); err == nil {
		t.Error("the sandbox can still connect")
	}
}

func TestListHoldsOnlyValidPorts(t *testing.T) {
	s := newSandbox(t)
	for range 3 { // a list that is delivered twice would block
		found, err := s.dialer.List(t.Context())
		want := []Listening{{netip.MustParseAddr("127.0.0.1"), 3000}, {netip.MustParseAddr("::"), 8080}}
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("got %v, %v", found, err)
		}
	}
	many := slices.Repeat([]lifeline.ListeningPort{{Address: "fe80::1%\x1b[2J", Port: 1}}, lifeline.MaxPorts+1)
	found, err := listening(lifeline.Ports{Ports: many, Error: "of the rest"})
	if err != nil || len(found) != lifeline.MaxPorts || found[0].Address != netip.MustParseAddr("fe80::1") {
		t.Errorf("got %d ports, the first of them %v, and %v", len(found), found[0], err)
	}
}

func TestErrorsOfTheSandboxAreEscaped(t *testing.T) {
	const hostile = "\x1b[2J"
	_, err := listening(lifeline.Ports{Error: hostile})
	for _, err := range []error{err, portRefusal(lifeline.DialFailed{Error: hostile})} {
		if err == nil || !strings.HasSuffix(err.Error(), `"\x1b[2J"`) {
			t.Errorf("got %v", err)
		}
	}
	for refused, code := range map[bool]files.Code{true: files.Invalid, false: files.Failed} {
		var failure *files.Error
		if err := filesRefusal(lifeline.DialFailed{Refused: refused}); !errors.As(err, &failure) || failure.Code != code {
			t.Errorf("refused %v: %v", refused, err)
		}
	}
}

func TestListEndsWithTheDialer(t *testing.T) {
	var d *Dialer
	d = NewDialer(nil, func(lifeline.Type, any) error { d.Close(); return nil }, nil)
	if _, err := d.List(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("got %v", err)
	}
}

func TestAListWithoutAnAnswerLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := NewDialer(nil, func(lifeline.Type, any) error { return nil }, nil)
		if _, err := d.List(t.Context()); !errors.Is(err, context.DeadlineExceeded) || len(d.lists) > 0 {
			t.Errorf("%d callers still wait: %v", len(d.lists), err)
		}
	})
}

func TestBrokenFrameIsAnError(t *testing.T) {
	s := newSandbox(t)
	for _, kind := range []lifeline.Type{lifeline.TypeDialFailed, lifeline.TypePorts} {
		if err := s.dialer.Handle(lifeline.Frame{Type: kind, Payload: []byte("{")}); !errors.Is(err, lifeline.ErrProtocol) {
			t.Errorf("frame %#x: %v", kind, err)
		}
	}
	if err := s.dialer.Handle(lifeline.Frame{Type: lifeline.TypeStarted, Payload: []byte("{}")}); err != nil {
		t.Errorf("another frame: %v", err)
	}
}
