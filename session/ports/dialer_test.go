package ports

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
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

// Whatever a program of the sandbox holds open without a word, PID 1 gets through.
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
		if got := s.refusals(3 * maxUnknown); !strings.Contains(got, "too many connections at once") { // the oldest
			t.Errorf("refused: %q", got)
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

// unknown is the number of connections that have not sent a token.
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
	found, err := s.dialer.List(t.Context())
	want := []Listening{{netip.MustParseAddr("127.0.0.1"), 3000}, {netip.MustParseAddr("::"), 8080}}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("got %v, %v", found, err)
	}
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
