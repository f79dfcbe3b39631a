package egress

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"
)

// stuckConn is a connection whose read ends when the test says so.
type stuckConn struct {
	net.Conn
	begun, end chan struct{}
	ended      *atomic.Bool
}

func (c stuckConn) Read([]byte) (int, error) {
	close(c.begun)
	<-c.end
	c.ended.Store(true)
	return 0, io.EOF
}

// The buffer that the read fills belongs to another connection afterwards.
func TestNothingReadsFromATunnelOfHTTP2AfterItsEnd(t *testing.T) {
	inside, outside := net.Pipe()
	defer inside.Close()
	stuck := stuckConn{outside, make(chan struct{}), make(chan struct{}), new(atomic.Bool)}
	reads := &endingReads{Conn: tls.Server(stuck, &tls.Config{})} //nolint:gosec // there is no handshake
	go func() { _, _ = reads.Read(make([]byte, 1)) }()
	<-stuck.begun
	time.AfterFunc(20*time.Millisecond, func() { close(stuck.end) })
	reads.end()
	if !stuck.ended.Load() {
		t.Error("the tunnel has ended while its connection is read")
	}
	if n, err := reads.Read(make([]byte, 1)); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("a later read returns %d, %v", n, err)
	}
}
