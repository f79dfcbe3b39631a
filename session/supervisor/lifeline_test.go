package supervisor

import (
	"net"
	"testing"

	"aibox/internal/lifeline"
)

func TestAnAbandonedConnectionIsNotTheLifeline(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	call := func() net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	if err := call().Close(); err != nil { // like PID 1 when it gives up a slow attempt
		t.Fatal(err)
	}
	container := lifeline.NewConn(call())
	defer container.Close()
	if err := container.SendMessage(lifeline.TypeHello, lifeline.Hello{Version: lifeline.Version, Kernel: "gVisor"}); err != nil {
		t.Fatal(err)
	}
	line, hello, err := new(sandbox).acceptLine(t.Context(), listener)
	if err != nil || hello.Kernel != "gVisor" {
		t.Fatalf("got %+v, %v", hello, err)
	}
	defer line.Close()
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("a second sandbox can call")
	}
}
