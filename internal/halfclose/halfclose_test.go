package halfclose

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// pipe is a connection in memory that can be half closed.
type pipe struct {
	net.Conn
	closed bool
}

func (p *pipe) CloseWrite() error { p.closed = true; return nil }

func TestAHalfClosedConnectionEndsWhenNothingArrives(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer far.Close()
		inner := &pipe{Conn: near}
		c := New(inner)
		defer c.Close()
		if err := c.CloseWrite(); err != nil || !inner.closed {
			t.Fatalf("it is not half closed: %v", err)
		}
		go func() {
			for range 3 { // each within the time
				time.Sleep(idleTimeout - time.Second)
				_, _ = far.Write([]byte("x"))
			}
		}()
		begin := time.Now()
		got, err := io.ReadAll(c)
		if string(got) != "xxx" || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q, %v", got, err)
		}
		if took, want := time.Since(begin), 3*(idleTimeout-time.Second)+idleTimeout; took != want {
			t.Errorf("it ends after %v, not %v", took, want)
		}
	})
}

func TestAConnectionThatCannotBeHalfClosedSaysSo(t *testing.T) {
	near, far := net.Pipe()
	defer near.Close()
	defer far.Close()
	if err := New(near).CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}
