package control

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"aibox/session/process"
)

// deaf is a process that does not read its input.
type deaf struct {
	*fakeProcesses

	began, ended chan struct{}
}

func (d deaf) Input(ctx context.Context, _ int, in io.Reader, _ bool) error {
	defer close(d.ended)
	_, _ = in.Read(make([]byte, 1))
	close(d.began)
	<-ctx.Done()
	return ctx.Err()
}

// stalling is a listener whose connections are not read beyond some input, as if the server's buffer
// for it were full.
type stalling struct {
	net.Listener
	stalled chan struct{} // closed when a connection is not read any more
	until   chan struct{}
}

func (l stalling) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &stalledConn{UnixConn: conn.(*net.UnixConn), of: l}, nil
}

type stalledConn struct {
	*net.UnixConn
	of   stalling
	read int
}

func (c *stalledConn) Read(p []byte) (int, error) {
	if c.read > 4*smallInput {
		close(c.of.stalled)
		<-c.of.until
	}
	n, err := c.UnixConn.Read(p)
	c.read += n
	return n, err
}

// The server does not read the rest of such input, so it does not see the end of the connection
// there. Without a check, the input of each client that gives up would stay in memory.
func TestInputEndsWithItsClientIfTheProcessDoesNotReadIt(t *testing.T) {
	dir := t.TempDir()
	listener, err := Listen(dir)
	if err != nil {
		t.Fatal(err)
	}
	l := stalling{listener, make(chan struct{}), make(chan struct{})}
	t.Cleanup(func() { close(l.until) })
	ps := deaf{&fakeProcesses{dir: dir}, make(chan struct{}), make(chan struct{})}
	server := serve(l, fakeControls{procs: ps}, time.Millisecond)
	t.Cleanup(func() { _ = server.Close() })
	c := Dial(dir, time.Minute)
	if _, err := c.StartProcess(t.Context(), process.Request{Argv: []string{"x"}, Stdin: true}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ps.r.Close)
	ctx, cancel := context.WithCancel(t.Context())
	sent := make(chan error, 1)
	go func() { sent <- c.ProcessInput(ctx, 1, zeros{}, false) }()
	<-ps.began
	<-l.stalled
	cancel()
	if err := <-sent; err == nil {
		t.Error("the client has no error")
	}
	select {
	case <-ps.ended:
	case <-time.After(time.Minute):
		t.Fatal("the input waits for the process")
	}
}

// zeros is input without an end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
