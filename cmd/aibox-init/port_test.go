package main

import (
	"bytes"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"aibox/internal/lifeline"
)

// listen returns a listener on address, and its port.
func listen(t *testing.T, address string) (net.Listener, uint16) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener, listener.Addr().(*net.TCPAddr).AddrPort().Port()
}

// receive returns the next frame, which must be a message of type T.
func receive[T any](t *testing.T, p *peer, kind lifeline.Type) T {
	t.Helper()
	f, err := p.Receive()
	if err != nil || f.Type != kind {
		t.Fatalf("got frame %#x, %v", f.Type, err)
	}
	return decode[T](t, f)
}

func TestPortIsJoinedToAConnectionThatBeginsWithTheToken(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0", ":0"} {
		t.Run(address, func(t *testing.T) {
			server, port := listen(t, address)
			back, _ := listen(t, "127.0.0.1:0")
			p := peerOn(t, back)
			token := bytes.Repeat([]byte{7}, lifeline.TokenSize)
			if err := p.SendMessage(lifeline.TypeDial, lifeline.Dial{ID: 1, Port: port, Token: token}); err != nil {
				t.Fatal(err)
			}
			outside, err := back.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer outside.Close()
			inside, err := server.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer inside.Close()
			got := make([]byte, len(token))
			if _, err := io.ReadFull(outside, got); err != nil || !bytes.Equal(got, token) {
				t.Fatalf("got %x, %v", got, err)
			}
			go func() {
				_, _ = io.WriteString(outside, "request")
				_ = outside.(*net.TCPConn).CloseWrite()
			}()
			if text, err := io.ReadAll(inside); string(text) != "request" {
				t.Errorf("got %q, %v", text, err)
			}
			_, _ = io.WriteString(inside, "answer")
			_ = inside.Close()
			if text, err := io.ReadAll(outside); string(text) != "answer" {
				t.Errorf("got %q, %v", text, err)
			}
		})
	}
}

func TestPortWithoutAListenerIsReported(t *testing.T) {
	server, port := listen(t, "127.0.0.1:0")
	server.Close()
	back, _ := listen(t, "127.0.0.1:0")
	p := peerOn(t, back)
	if err := p.SendMessage(lifeline.TypeDial, lifeline.Dial{ID: 3, Port: port, Token: make([]byte, lifeline.TokenSize)}); err != nil {
		t.Fatal(err)
	}
	if got := receive[lifeline.DialFailed](t, p, lifeline.TypeDialFailed); got.ID != 3 || !got.Refused {
		t.Errorf("got %+v", got)
	}
}

func TestListeningPortsAreListed(t *testing.T) {
	_, one := listen(t, "127.0.0.1:0")
	_, two := listen(t, "[::1]:0")
	p := newPeer(t)
	if err := p.Send(lifeline.Frame{Type: lifeline.TypeListPorts}); err != nil {
		t.Fatal(err)
	}
	list := receive[lifeline.Ports](t, p, lifeline.TypePorts)
	for _, want := range []lifeline.ListeningPort{{Address: "127.0.0.1", Port: one}, {Address: "::1", Port: two}} {
		if !slices.Contains(list.Ports, want) {
			t.Errorf("no %+v in %+v", want, list)
		}
	}
}

func TestSocketTableIsReadAsTheKernelPrintsIt(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0
   1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0
   2: 00000000000000000000000001000000:0BB8 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 3 1 0
`
	found, err := parseSocketTable(strings.NewReader(table))
	want := []lifeline.ListeningPort{{Address: "127.0.0.1", Port: 8080}, {Address: "::1", Port: 3000}}
	if err != nil || !slices.Equal(found, want) {
		t.Errorf("got %+v, %v", found, err)
	}
	for _, bad := range []string{"0100007F", "zz:1F90", "01:1F90", "0100007F:1F90F", ":"} {
		if _, err := parseSocketAddress(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
