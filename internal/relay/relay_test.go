package relay

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// connected returns both ends of a connection.
func connected(t *testing.T, network string) (dialed, accepted Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "socket")
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	one, err := net.Dial(network, listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { one.Close(); other.Close() })
	return one.(Conn), other.(Conn)
}

type counts struct{ toA, toB int64 }

// joined returns the outer ends of two joined connections, and their counts at the end.
func joined(t *testing.T, patience time.Duration) (left, right Conn, ended <-chan counts) {
	t.Helper()
	left, a := connected(t, "unix")
	right, b := connected(t, "tcp")
	end := make(chan counts, 1)
	go func() {
		toA, toB := join(a, b, patience)
		end <- counts{toA, toB}
	}()
	return left, right, end
}

func TestBytesPassBothWaysAndAreCounted(t *testing.T) {
	left, right, ended := joined(t, halfOpen)
	request, answer := make([]byte, 3<<20), make([]byte, 5<<20)
	_, _ = rand.Read(request)
	_, _ = rand.Read(answer)
	go func() {
		_, _ = left.Write(request)
		_ = left.CloseWrite()
	}()
	got, err := io.ReadAll(right)
	if err != nil || !bytes.Equal(got, request) {
		t.Fatalf("%d bytes of %d arrived: %v", len(got), len(request), err)
	}
	go func() {
		_, _ = right.Write(answer)
		_ = right.Close()
	}()
	if got, err = io.ReadAll(left); err != nil || !bytes.Equal(got, answer) {
		t.Fatalf("%d bytes of %d came back: %v", len(got), len(answer), err)
	}
	if c := <-ended; c.toA != int64(len(answer)) || c.toB != int64(len(request)) {
		t.Errorf("counted %+v", c)
	}
}

func TestResetReachesTheOtherSide(t *testing.T) {
	left, right, ended := joined(t, halfOpen)
	_ = right.(*net.TCPConn).SetLinger(0)
	_ = right.Close()
	if _, err := io.ReadAll(left); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Error(err)
	}
	<-ended
}

func TestStreamIsCutVisiblyWhenItsSourceFails(t *testing.T) {
	right, b := connected(t, "tcp")
	left, a := connected(t, "tcp")
	done := make(chan struct{})
	go func() { defer close(done); Join(a, b) }()
	_, _ = left.Write([]byte("part"))
	if _, err := io.ReadFull(right, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	_ = left.(*net.TCPConn).SetLinger(0)
	_ = left.Close()
	if _, err := right.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the other side sees %v and not a reset", err)
	}
	<-done
}

// half is one end of a connection within the test, with a pipe for each direction. Unlike a
// socket it works in a bubble of synctest, where a busy machine makes nothing late.
type half struct {
	net.Conn // receives
	out      net.Conn
}

func halves() (one, other half) {
	a, b := net.Pipe()
	c, d := net.Pipe()
	return half{a, c}, half{d, b}
}

func (h half) Write(p []byte) (int, error) { return h.out.Write(p) }
func (h half) CloseWrite() error           { return h.out.Close() }
func (h half) Close() error                { return errors.Join(h.Conn.Close(), h.out.Close()) }

func TestSilentHalfIsClosedAndAnActiveOneIsNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		left, a := halves()
		right, b := halves()
		ended := make(chan int64)
		go func() {
			toA, _ := join(a, b, 50*time.Millisecond)
			ended <- toA
		}()
		_ = left.CloseWrite()
		for range 10 { // it sends for longer than the limit
			time.Sleep(40 * time.Millisecond)
			if _, err := right.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(left, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := left.Read(make([]byte, 1)); err == nil { // and then nothing more
			t.Error("bytes came from nowhere")
		}
		if toA := <-ended; toA != 10 {
			t.Errorf("counted %d", toA)
		}
	})
}
