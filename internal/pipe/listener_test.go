package pipe

import (
	"context"
	"errors"
	"net"
	"testing"
)

func TestConnectionsReachTheListenerUntilItIsClosed(t *testing.T) {
	l := NewListener()
	accepted := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, err = conn.Write([]byte("x"))
		}
		accepted <- err
	}()
	conn, err := l.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got [1]byte
	if _, err := conn.Read(got[:]); err != nil || got[0] != 'x' {
		t.Errorf("%q, %v", got, err)
	}
	if err := <-accepted; err != nil {
		t.Error(err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Dial(canceled); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if _, err := l.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}
