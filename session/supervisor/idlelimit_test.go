package supervisor

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"aibox/internal/lifeline"
	"aibox/internal/screen"
	"aibox/session/control"
	"aibox/session/ports"
	"aibox/session/process"
)

func TestAnIdleSessionAsksOnceAndThenEnds(t *testing.T) {
	begin := time.Unix(1_700_000_000, 0)
	tracker := idleTracker{limit: 30 * time.Minute}
	for _, c := range []struct {
		name      string
		now, last time.Duration // since begin
		due       idleStep
		next      time.Duration
	}{
		{"at the start", 0, 0, idleNothing, 28 * time.Minute},
		{"active since", 28 * time.Minute, 10 * time.Minute, idleNothing, 38 * time.Minute},
		{"almost at the limit", 38 * time.Minute, 10 * time.Minute, idleAsk, 40 * time.Minute},
		{"still idle", 39 * time.Minute, 10 * time.Minute, idleNothing, 40 * time.Minute},
		{"active after the question", 40 * time.Minute, 39 * time.Minute, idleWithdraw, 67 * time.Minute},
		{"almost at the limit again", 67 * time.Minute, 39 * time.Minute, idleAsk, 69 * time.Minute},
		{"at the limit", 69 * time.Minute, 39 * time.Minute, idleEnd, 0},
	} {
		due, next := tracker.step(begin.Add(c.now), begin.Add(c.last))
		if due != c.due || due != idleEnd && !next.Equal(begin.Add(c.next)) {
			t.Errorf("%s: due is %v, next %v", c.name, due, next.Sub(begin))
		}
	}
}

func TestASessionThatWaitsForItsModelIsActive(t *testing.T) {
	a := activity{begin: time.Now().Add(-time.Hour)}
	now := time.Now()
	if last := a.lastActive(now); now.Sub(last) < time.Hour {
		t.Errorf("it was last active %v ago", now.Sub(last))
	}
	a.open.Add(1)
	if last := a.lastActive(now); !last.Equal(now) {
		t.Errorf("with an open request it was last active %v ago", now.Sub(last))
	}
	a.open.Add(-1)
	a.noteActivity()
	if last := a.lastActive(now); now.Sub(last) > time.Minute {
		t.Errorf("after its answer it was last active %v ago", now.Sub(last))
	}
}

func TestASandboxOneOfWhoseProcessesIsFollowedIsActive(t *testing.T) {
	ps, _ := connected(t)
	ps.sandbox.begin = time.Now().Add(-time.Hour)
	ps.sandbox.last.Store(0)
	info, err := ps.Start(t.Context(), process.Request{Argv: []string{"sleep", "600"}})
	if err != nil {
		t.Fatal(err)
	}
	ps.sandbox.last.Store(0)
	reader, err := ps.Read(info.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if last := ps.sandbox.activity.lastActive(now); !last.Equal(now) {
		t.Errorf("while a call is open, it was last active %v ago", now.Sub(last))
	}
	ps.sandbox.last.Store(0)
	reader.Close()
	reader.Close()
	if last := ps.sandbox.activity.lastActive(now); last.Equal(now) || now.Sub(last) > time.Minute {
		t.Errorf("after the call it was last active %v ago", now.Sub(last))
	}
}

// The bytes of these calls do not pass through anything that counts as activity.
func TestASandboxIsActiveDuringACallOfItsFilesInputOrTerminals(t *testing.T) {
	ps, _ := connected(t)
	ps.sandbox.begin = time.Now().Add(-time.Hour)
	ps.sandbox.ports = newOpenPorts(ps.sandbox.modelWatch, ps.sandbox.storing)
	ps.sandbox.ports.start()
	access := newFileAccess(&supervisor{run: ps.sandbox.run, sandbox: ps.sandbox})
	shell, err := ps.Start(t.Context(), process.Request{Argv: []string{"sleep", "600"}, TTY: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, call := range map[string]func(client io.ReadWriteCloser, conn net.Conn) error{
		"files": func(_ io.ReadWriteCloser, conn net.Conn) error {
			return access.Serve(t.Context(), func() (net.Conn, io.Reader, error) { return conn, conn, nil })
		},
		"input": func(_ io.ReadWriteCloser, conn net.Conn) error { return ps.Input(t.Context(), shell.ID, conn, false) },
		"terminal": func(client io.ReadWriteCloser, conn net.Conn) error {
			term, err := ps.Terminal(shell.ID)
			if err == nil {
				go func() { _, _ = io.Copy(io.Discard, client) }()
				term.Serve(conn, control.NewFrameReader(conn), screen.Size{Rows: 24, Cols: 80}, screen.Colors(0))
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, conn := net.Pipe()
			reading := make(chan struct{})
			over := make(chan error)
			go func() { over <- call(client, &observed{Conn: conn, reading: reading}) }()
			<-reading
			now := time.Now()
			if last := ps.sandbox.activity.lastActive(now); !last.Equal(now) {
				t.Errorf("while the call is open, the sandbox was last active %v ago", now.Sub(last))
			}
			_ = client.Close()
			if err := <-over; err != nil {
				t.Error(err)
			}
			if last := ps.sandbox.activity.lastActive(now); last.Equal(now) {
				t.Error("the call has no end")
			}
		})
	}
}

// observed is a connection that reports its first read.
type observed struct {
	net.Conn
	reading chan struct{}
	once    sync.Once
}

func (o *observed) Read(p []byte) (int, error) {
	o.once.Do(func() { close(o.reading) })
	return o.Conn.Read(p)
}

func TestASessionIsActiveWhileAPortThatIsOpenOnTheHostIsUsed(t *testing.T) {
	_, s := watched(t)
	listener := lineListener(t)
	programs := make(chan net.Conn, 1)
	s.ports.dialer = ports.NewDialer(listener, func(_ lifeline.Type, message any) error {
		program, err := net.Dial("tcp", listener.Addr().String())
		if err == nil {
			_, err = program.Write(message.(lifeline.Dial).Token)
			programs <- program
		}
		return err
	}, nil)
	s.ports.slots = ports.NewSlots()
	s.ports.start()
	if last := s.ports.dialed.lastActive(time.Now()); !last.IsZero() {
		t.Errorf("it was last active at %v without a connection", last)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	updates, err := s.ports.offer(ctx, ports.Request{Port: 3000})
	if err != nil {
		t.Fatal(err)
	}
	address, over := make(chan string, 1), make(chan error, 1)
	go func() {
		over <- updates(func(u ports.Update) error {
			if u.Address != "" {
				address <- u.Address
			}
			return nil
		})
	}()
	client, err := net.Dial("tcp", <-address)
	if err != nil {
		t.Fatal(err)
	}
	program := <-programs
	_, _ = client.Write([]byte("x"))
	if _, err := io.ReadFull(program, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if last := s.ports.dialed.lastActive(time.Now()); time.Since(last) > time.Minute {
		t.Errorf("with traffic it was last active at %v", last)
	}
	ended := time.Now()
	_, _ = client.Close(), program.Close()
	cancel()
	if err := <-over; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if last := s.ports.dialed.lastActive(time.Now()); last.Before(ended) || len(s.ports.dialed.open) > 0 {
		t.Errorf("after it, it was last active at %v; %d connections are open", last, len(s.ports.dialed.open))
	}
}
