package egress

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"aibox/netguard/egress/egresstest"
)

// endless is a server that sends bytes without end to a client that has sent something.
func endless(b *testing.B) string {
	b.Helper()
	block := make([]byte, 1<<20)
	listener := serveEach(b, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 4096))
		for {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	})
	return listener.Addr().String()
}

func readBulk(b *testing.B, conn net.Conn) {
	b.Helper()
	block := make([]byte, 256<<10)
	b.SetBytes(16 << 20)
	for b.Loop() {
		for left := 16 << 20; left > 0; {
			n, err := conn.Read(block[:min(left, len(block))])
			if err != nil {
				b.Fatal(err)
			}
			left -= n
		}
	}
}

func BenchmarkBulkDirect(b *testing.B) {
	conn, err := net.Dial("tcp", endless(b))
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	_, _ = conn.Write(goodTLS)
	readBulk(b, conn)
}

func BenchmarkBulkTunnel(b *testing.B) {
	w := newWorld(b, egresstest.Allowlist(b, "good.example.org"), nil)
	w.Route("good.example.org", 443, endless(b))
	conn := w.connect("good.example.org:443")
	_, _ = conn.Write(goodTLS)
	readBulk(b, conn)
}

func BenchmarkParseClientHello(b *testing.B) {
	body := helloMessage(goodName)[4:]
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := parseClientHello(body); !ok {
			b.Fatal("not read")
		}
	}
}

func BenchmarkRefusal(b *testing.B) {
	w := newWorld(b, egresstest.Allowlist(b, "good.example.org"), func(c *Config) { c.Record = nil })
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	answer := make([]byte, 4096)
	for b.Loop() {
		_, _ = io.WriteString(conn, "CONNECT evil.example.net:443 HTTP/1.1\r\n\r\n")
		if _, err := conn.Read(answer); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTunnel(b *testing.B) {
	w := newWorld(b, egresstest.Allowlist(b, "good.example.org"), func(c *Config) { c.Record = nil })
	w.Route("good.example.org", 443, echoOne(b))
	for b.Loop() {
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = io.WriteString(conn, "CONNECT good.example.org:443 HTTP/1.1\r\n\r\n")
		answer := make([]byte, 4096)
		if _, err := conn.Read(answer); err != nil {
			b.Fatal(err)
		}
		_, _ = conn.Write(goodTLS)
		if _, err := conn.Read(answer); err != nil {
			b.Fatal(err)
		}
		conn.Close()
	}
}

// BenchmarkForward reads responses of plain HTTP with and without a length.
func BenchmarkForward(b *testing.B) {
	body := make([]byte, 1<<20)
	for name, handler := range map[string]http.HandlerFunc{
		"short": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body[:100]) },
		"length": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(body)))
			_, _ = w.Write(body)
		},
		"chunked": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) },
	} {
		b.Run(name, func(b *testing.B) {
			server := httptest.NewServer(handler)
			defer server.Close()
			w := newWorld(b, egresstest.Allowlist(b, "good.example.org:80"), func(c *Config) { c.Record = nil })
			w.Route("good.example.org", 80, server.Listener.Addr().String())
			client := w.client()
			b.ReportAllocs()
			for b.Loop() {
				response, err := client.Get("http://good.example.org/")
				if err != nil {
					b.Fatal(err)
				}
				n, err := io.Copy(io.Discard, response.Body)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(n)
				response.Body.Close()
			}
		})
	}
}

// echoOne is a server that answers the first bytes of a connection with one byte.
func echoOne(b *testing.B) string {
	b.Helper()
	listener := serveEach(b, func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 4096)); err == nil {
			_, _ = conn.Write([]byte{1})
		}
	})
	return listener.Addr().String()
}
