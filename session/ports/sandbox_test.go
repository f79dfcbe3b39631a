package ports

import (
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
	"aibox/internal/relay"
)

// fakeSandbox connects back as PID 1 does, to servers of the test.
type fakeSandbox struct {
	t      *testing.T
	listen net.Listener // the dialer's address, as the sandbox sees it
	dialer *Dialer
	ports  map[uint16]string // the address of the server of each port
	dial   func(lifeline.Dial)

	mu      sync.Mutex
	refused []string
}

// newSandbox returns a sandbox with a dialer for it.
func newSandbox(t *testing.T) *fakeSandbox {
	t.Helper()
	s := &fakeSandbox{t: t, ports: map[uint16]string{}}
	s.listen = listenPlain(t)
	t.Cleanup(func() { s.listen.Close() })
	Pause(s.listen)
	s.dial = s.connect
	s.dialer = NewDialer(s.listen, s.receive, s.refuse)
	return s
}

// listenPlain listens as the guard does: a socket that is not Multipath TCP, bound to a
// port by number. Other sockets lose their port when they are paused.
func listenPlain(t *testing.T) net.Listener {
	t.Helper()
	var plain net.ListenConfig
	plain.SetMultipathTCP(false)
	for {
		free, err := plain.Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		address := free.Addr().String()
		free.Close()
		listener, err := plain.Listen(t.Context(), "tcp", address)
		if errors.Is(err, unix.EADDRINUSE) {
			continue // another program has taken it in the meantime
		}
		if err != nil {
			t.Fatal(err)
		}
		return listener
	}
}

func (s *fakeSandbox) refuse(reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = append(s.refused, reason)
}

// refusals waits for n refused connections and returns their reasons.
func (s *fakeSandbox) refusals(n int) string {
	for start := time.Now(); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		all := s.refused
		s.mu.Unlock()
		if len(all) >= n || time.Since(start) > time.Minute {
			return strings.Join(all, "\n")
		}
	}
}

// receive handles the messages of the lifeline.
func (s *fakeSandbox) receive(kind lifeline.Type, message any) error {
	switch kind {
	case lifeline.TypeDial:
		go s.dial(message.(lifeline.Dial))
	case lifeline.TypeListPorts:
		go s.answer(lifeline.TypePorts, `{"ports":[{"address":"127.0.0.1","port":3000},{"address":"\u001b[2J","port":1},{"address":"::","port":0},{"address":"::","port":8080}]}`)
	}
	return nil
}

func (s *fakeSandbox) answer(kind lifeline.Type, message string) {
	if err := s.dialer.Handle(lifeline.Frame{Type: kind, Payload: []byte(message)}); err != nil {
		s.t.Error(err)
	}
}

// call connects to the dialer.
func (s *fakeSandbox) call() (*net.TCPConn, error) {
	conn, err := net.Dial("tcp", s.listen.Addr().String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// connect answers a dial as PID 1 does.
func (s *fakeSandbox) connect(d lifeline.Dial) {
	inside, err := net.Dial("tcp", s.ports[d.Port])
	if err != nil {
		s.answer(lifeline.TypeDialFailed, `{"id":`+number(d.ID)+`,"refused":true,"error":"connection refused"}`)
		return
	}
	outside, err := s.call()
	if err != nil {
		s.t.Error(err)
		return
	}
	_, _ = outside.Write(d.Token)
	relay.Join(inside.(*net.TCPConn), outside)
}

// echo makes the port send back what it receives.
func (s *fakeSandbox) echo(port uint16) {
	s.t.Helper()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { server.Close() })
	s.ports[port] = server.Addr().String()
	go func() {
		for {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
}
