package cli

import (
	"bytes"
	"context"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// A server can send more than its response, such as the request with its secret. net/http logs
// that, and the log of a supervisor is a file.
func TestNothingThatAServerSendsIsLogged(t *testing.T) {
	var logged bytes.Buffer
	before := log.Writer()
	log.SetOutput(&logged)
	defer func() {
		log.SetOutput(before)
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	}()
	t.Setenv("HOME", t.TempDir())
	nothing, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer nothing.Close()
	if code := Main([]string{"--help"}, nothing, nothing, nothing); code != 0 {
		t.Fatal(code)
	}

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, _ := http.NewResponseController(w).Hijack()
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nX-Key: canary")
		_ = conn.Close()
	}))
	defer server.Close()
	closed := make(chan struct{})
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return noticedConn{conn, sync.OnceFunc(func() { close(closed) })}, err
	}}
	response, err := (&http.Client{Transport: transport}).Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	<-closed // after the message, if there is one
	if strings.Contains(logged.String(), "canary") {
		t.Errorf("logged %s", logged.String())
	}
}

// noticedConn is a connection whose end is noticed.
type noticedConn struct {
	net.Conn
	closed func()
}

func (c noticedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}
