package egress

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/cryptobyte"

	"aibox/netguard"
)

// sink is a server of the test that records the bytes it receives and does not answer.
type sink struct {
	net.Listener
	mu    sync.Mutex
	bytes []byte
}

func newSink(t *testing.T) *sink {
	t.Helper()
	s := new(sink)
	s.Listener = serveEach(t, func(conn net.Conn) {
		piece := make([]byte, 4096)
		for {
			n, err := conn.Read(piece)
			s.mu.Lock()
			s.bytes = append(s.bytes, piece[:n]...)
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	})
	return s
}

func (s *sink) received() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.bytes)
}

func extension(kind uint16, data []byte) []byte {
	var b cryptobyte.Builder
	b.AddUint16(kind)
	b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(data) })
	return b.BytesOrPanic()
}

func serverNames(names ...string) []byte {
	var b cryptobyte.Builder
	b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) {
		for _, name := range names {
			b.AddUint8(nameTypeHost)
			b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes([]byte(name)) })
		}
	})
	return extension(extensionServerName, b.BytesOrPanic())
}

// helloMessage is a ClientHello with extensions, without a record around it.
func helloMessage(extensions ...[]byte) []byte {
	var b cryptobyte.Builder
	b.AddUint8(messageClientHello)
	b.AddUint24LengthPrefixed(func(b *cryptobyte.Builder) {
		b.AddUint16(tls.VersionTLS12)
		b.AddBytes(make([]byte, 32))
		b.AddUint8LengthPrefixed(func(*cryptobyte.Builder) {})
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddUint16(tls.TLS_AES_128_GCM_SHA256); b.AddUint16(0x0a0a) })
		b.AddUint8LengthPrefixed(func(b *cryptobyte.Builder) { b.AddUint8(0) })
		b.AddUint16LengthPrefixed(func(b *cryptobyte.Builder) { b.AddBytes(bytes.Join(extensions, nil)) })
	})
	return b.BytesOrPanic()
}

func record(kind uint8, data []byte) []byte {
	return append([]byte{kind, 3, 1, byte(len(data) >> 8), byte(len(data))}, data...)
}

// records splits a message into records of at most size bytes.
func records(message []byte, size int) (raw []byte) {
	for len(message) > 0 {
		n := min(size, len(message))
		raw = append(raw, record(recordHandshake, message[:n])...)
		message = message[n:]
	}
	return raw
}

func simpleHello(extensions ...[]byte) []byte {
	return record(recordHandshake, helloMessage(extensions...))
}

var (
	goodName = serverNames("good.example.org")
	evilName = serverNames("evil.example.net")
	goodTLS  = simpleHello(goodName)
	evilTLS  = simpleHello(evilName)
	plainGet = "GET / HTTP/1.1\r\nHost: good.example.org\r\n\r\n"
	evilGet  = "GET / HTTP/1.1\r\nHost: evil.example.net\r\n\r\n"
	changeCS = record(recordChangeCipherSpec, []byte{1})
	earlyExt = extension(extensionEarlyData, nil)
)

// tunnelAttacks are the first bytes of tunnels that must not reach the server, each with the
// code of the control that stops it.
var tunnelAttacks = []struct {
	name, to string
	raw      []byte
	code     string
}{
	{"server name of another site", "good.example.org:443", evilTLS, "wrong-server-name"},
	{"no server name", "good.example.org:443", simpleHello(), "no-server-name"},
	{"no extensions", "good.example.org:443", record(recordHandshake, func() []byte { m := helloMessage(); m[3] -= 2; return m[:len(m)-2] }()), "no-server-name"},
	{"an empty server name", "good.example.org:443", simpleHello(serverNames("")), "bad-hello"},
	{"an empty list of server names", "good.example.org:443", simpleHello(serverNames()), "bad-hello"},
	{"two server names", "good.example.org:443", simpleHello(serverNames("good.example.org", "evil.example.net")), "bad-hello"},
	{"two server name extensions", "good.example.org:443", simpleHello(goodName, evilName), "bad-hello"},
	{"a server name of another type", "good.example.org:443", simpleHello(extension(0, append([]byte{0, 19, 1, 0, 16}, "good.example.org"...))), "bad-hello"},
	{"NUL in the server name", "good.example.org:443", simpleHello(serverNames("good.example.org\x00.evil.example.net")), "bad-hello"},
	{"a server name that ends in a dot", "good.example.org:443", simpleHello(serverNames("good.example.org.")), "wrong-server-name"},
	{"a server name that another begins with", "good.example.org:443", simpleHello(serverNames("good.example.org.evil.example.net")), "wrong-server-name"},
	{"a server name with a letter that lowers to ASCII", "ok.wild.example.org:443", simpleHello(serverNames("o\u212a.wild.example.org")), "wrong-server-name"},
	{"a host of the same wildcard", "ok.wild.example.org:443", simpleHello(serverNames("other.wild.example.org")), "wrong-server-name"},
	{"an address as server name", "good.example.org:443", simpleHello(serverNames("9.9.9.9")), "wrong-server-name"},
	{"a server name for an address", "9.9.9.9:443", goodTLS, "wrong-server-name"},
	{"an encrypted server name", "good.example.org:443", simpleHello(goodName, extension(extensionEncryptedClientHello, make([]byte, 200))), "encrypted-server-name"},
	{"an encrypted server name of the drafts", "good.example.org:443", simpleHello(goodName, extension(extensionEncryptedServerName, make([]byte, 200))), "encrypted-server-name"},
	{"an encrypted server name for an address", "9.9.9.9:443", simpleHello(extension(extensionEncryptedClientHello, make([]byte, 200))), "encrypted-server-name"},
	{"another server name in one-byte records", "good.example.org:443", records(helloMessage(evilName), 1), "bad-hello"},
	{"another server name in records of 40 bytes", "good.example.org:443", records(helloMessage(evilName), 40), "wrong-server-name"},
	{"another server name behind 16 KiB", "good.example.org:443", records(helloMessage(extension(21, make([]byte, 16<<10)), evilName), 1<<14), "wrong-server-name"},
	{"a ClientHello of 40 KiB", "good.example.org:443", records(helloMessage(extension(21, make([]byte, 40<<10)), goodName), 1<<14), "bad-hello"},
	{"an empty record first", "good.example.org:443", append(record(recordHandshake, nil), evilTLS...), "bad-hello"},
	{"a record that is too long", "good.example.org:443", append([]byte{recordHandshake, 3, 1, 0xff, 0xff}, make([]byte, 100)...), "bad-hello"},
	{"another message first", "good.example.org:443", record(recordHandshake, []byte{2, 0, 0, 0}), "bad-hello"},
	{"two ClientHellos in a record", "good.example.org:443", record(recordHandshake, append(helloMessage(goodName), helloMessage(evilName)...)), "bad-hello"},
	{"an alert between records", "good.example.org:443", append(append(record(recordHandshake, helloMessage(goodName)[:20]), record(21, []byte{1, 0})...), record(recordHandshake, helloMessage(evilName)[20:])...), "bad-hello"},
	{"an SSL 2.0 hello", "good.example.org:443", append([]byte{0x80, 0x2e, 1, 3, 1, 0, 3, 0, 0, 0, 0x20}, make([]byte, 40)...), "not-tls"},
	{"extensions with a wrong length", "good.example.org:443", func() []byte { raw := bytes.Clone(goodTLS); raw[len(raw)-len(goodName)-1]++; return raw }(), "bad-hello"},
	{"plain HTTP on port 443", "good.example.org:443", []byte(plainGet), "not-tls"},
	{"CONNECT on port 443", "good.example.org:443", []byte("CONNECT evil.example.net:443 HTTP/1.1\r\n\r\n"), "not-tls"},
	{"SSH on port 443", "good.example.org:443", []byte("SSH-2.0-x\r\n"), "not-tls"},
	{"random bytes on port 443", "good.example.org:443", []byte{0xff, 0xfe, 0, 1}, "not-tls"},
	{"random bytes on another port", "good.example.org:8080", []byte{0xff, 0xfe, 0, 1}, "unknown-protocol"},
	{"a DNS query on another port", "good.example.org:8080", append([]byte{0, 29, 1, 2, 1, 0, 0, 1}, make([]byte, 20)...), "unknown-protocol"},
	{"SSH on another port", "good.example.org:8080", []byte("SSH-2.0-x\r\n"), "ssh"},
	{"TLS of another site on another port", "good.example.org:8080", evilTLS, "wrong-server-name"},
	{"TLS of another site on port 80", "good.example.org:80", evilTLS, "wrong-server-name"},
	{"SSH on port 80", "good.example.org:80", []byte("SSH-2.0-x\r\n\r\n"), "bad-request-line"},
	{"HTTP on port 22", "ssh.wild.example.org:22", []byte(plainGet), "not-ssh"},
	{"TLS on port 22", "ssh.wild.example.org:22", goodTLS, "not-ssh"},
	{"SSH that nobody checks", "ssh.wild.example.org:22", []byte("SSH-2.0-x\r\n"), "ssh"},

	{"HTTP for another host", "good.example.org:80", []byte(evilGet), "wrong-host"},
	{"HTTP for another host in absolute form", "good.example.org:80", []byte("GET http://evil.example.net/ HTTP/1.1\r\nHost: evil.example.net\r\n\r\n"), "wrong-host"},
	{"HTTP for another port", "good.example.org:80", []byte("GET / HTTP/1.1\r\nHost: good.example.org:8080\r\n\r\n"), "wrong-host"},
	{"HTTP with two Host fields", "good.example.org:80", []byte("GET / HTTP/1.1\r\nHost: good.example.org\r\nHost: evil.example.net\r\n\r\n"), "repeated-host"},
	{"HTTP with length and chunks", "good.example.org:80", []byte("POST / HTTP/1.1\r\nHost: good.example.org\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "length-and-encoding"},
	{"HTTP without Host", "good.example.org:80", []byte("GET / HTTP/1.1\r\n\r\n"), "no-host"},
	{"a nested CONNECT", "good.example.org:80", []byte("CONNECT evil.example.net:443 HTTP/1.1\r\n\r\n"), "nested-connect"},
	{"a nested CONNECT to the same host", "good.example.org:8080", []byte("CONNECT good.example.org:8080 HTTP/1.1\r\n\r\n"), "nested-connect"},
	{"HTTP/2 without TLS", "good.example.org:80", []byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "bad-version"},
	{"a mail program", "good.example.org:8080", []byte("EHLO x\r\n\r\n"), "bad-request-line"},
}

// connect makes a tunnel and returns its client's side.
func (w *world) connect(to string) net.Conn {
	w.t.Helper()
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	answer := make([]byte, len("HTTP/1.1 200 Connection established\r\n\r\n"))
	if _, err := io.ReadFull(conn, answer); err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 200") {
		w.t.Fatalf("CONNECT %s: %q, %v", to, answer, err)
	}
	return conn
}

// tunnelWorld has one sink behind every destination of the attacks.
func tunnelWorld(t *testing.T, change func(*Config)) (*world, *sink) {
	policy := attackPolicy(t)
	ssh, err := netguard.ParseAllow("ssh.wild.example.org:22")
	if err != nil {
		t.Fatal(err)
	}
	policy.Allow = append(policy.Allow, netguard.Rule{Pattern: ssh, Source: "--allow"})
	w, server := newWorld(t, policy, change), newSink(t)
	for _, port := range []uint16{80, 443, 8080} {
		w.Route("good.example.org", port, server.Addr().String())
	}
	w.Route("ok.wild.example.org", 443, server.Addr().String())
	w.Route("ssh.wild.example.org", 22, server.Addr().String())
	w.RouteAddress(netip.MustParseAddrPort("9.9.9.9:443"), server.Addr().String())
	return w, server
}

func TestNoTrickInsideATunnelReachesAServer(t *testing.T) {
	for _, attack := range tunnelAttacks {
		t.Run(attack.name, func(t *testing.T) {
			t.Parallel()
			w, server := tunnelWorld(t, nil)
			conn := w.connect(attack.to)
			_, _ = conn.Write(attack.raw)
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			if code := w.code(); code != attack.code {
				t.Errorf("refused for %q, want %q", code, attack.code)
			}
			if got := server.received(); len(got) > 0 {
				t.Errorf("the server received %q", got)
			}
		})
	}
}

// secondHellos are bytes after an allowed ClientHello. Their last part must not reach the
// server.
var secondHellos = []struct {
	name          string
	first, second []byte
	code          string
}{
	{"after a HelloRetryRequest", goodTLS, evilTLS, "wrong-server-name"},
	{"behind a change of cipher", goodTLS, append(bytes.Clone(changeCS), evilTLS...), "wrong-server-name"},
	{"behind an alert that servers ignore", goodTLS, append(record(recordAlert, []byte{1, 90}), evilTLS...), "wrong-server-name"},
	{"behind a record of no known type", goodTLS, append(record(99, []byte{1, 90}), evilTLS...), "wrong-server-name"},
	{"behind many alerts", goodTLS, append(bytes.Repeat(record(recordAlert, []byte{1, 90}), 40), evilTLS...), "bad-hello"},
	{"behind early data", simpleHello(goodName, earlyExt), append(record(recordApplicationData, make([]byte, 500)), evilTLS...), "wrong-server-name"},
	{"behind much early data", simpleHello(goodName, earlyExt), append(bytes.Repeat(record(recordApplicationData, make([]byte, 1<<12)), 50), evilTLS...), "wrong-server-name"},
	{"in small records", goodTLS, records(helloMessage(evilName), 9), "bad-hello"},
	{"with an encrypted name", goodTLS, simpleHello(goodName, extension(extensionEncryptedClientHello, make([]byte, 9))), "encrypted-server-name"},
	{"behind many changes of cipher", goodTLS, append(bytes.Repeat(changeCS, 40), evilTLS...), "bad-hello"},
	{"interrupted by an alert", goodTLS, slices.Concat(record(recordHandshake, helloMessage(evilName)[:40]), record(recordAlert, []byte{1, 90}), record(recordHandshake, helloMessage(evilName)[40:])), "bad-hello"},
	{"interrupted by early data", simpleHello(goodName, earlyExt), slices.Concat(record(recordHandshake, helloMessage(evilName)[:40]), record(recordApplicationData, []byte("early")), record(recordHandshake, helloMessage(evilName)[40:])), "bad-hello"},
	{"behind an empty record", goodTLS, append(record(recordHandshake, nil), evilTLS...), "bad-hello"},
}

func TestASecondClientHelloIsChecked(t *testing.T) {
	for _, attack := range secondHellos {
		t.Run(attack.name, func(t *testing.T) {
			t.Parallel()
			w, server := tunnelWorld(t, nil)
			conn := w.connect("good.example.org:443")
			_, _ = conn.Write(append(bytes.Clone(attack.first), attack.second...))
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			if bytes.Contains(server.received(), []byte("evil")) || bytes.Count(server.received(), []byte("good")) > 1 {
				t.Errorf("the server received the second ClientHello")
			}
			if closed := waitFor(t, w, Closed); closed.Code != attack.code {
				t.Errorf("closed for %q, want %q", closed.Code, attack.code)
			}
			if code := w.code(); code != attack.code {
				t.Errorf("refused for %q, want %q", code, attack.code)
			}
		})
	}
}

// The client of a server that speaks first, such as one for mail, waits for it after the Finished.
func TestAFinishedIsNotHeldBackUntilTheClientSendsMore(t *testing.T) {
	w, server := tunnelWorld(t, nil)
	conn := w.connect("good.example.org:443")
	finished := record(recordHandshake, append([]byte{messageClientHello, 0, 1}, make([]byte, 37)...))
	_, _ = conn.Write(slices.Concat(goodTLS, changeCS, finished))
	eventually(t, "the server has no Finished", func() bool { return bytes.HasSuffix(server.received(), finished) })
}

// A client inside a tunnel gets no answer that could name the hint.
func TestARefusalInsideATunnelIsRecordedWithItsHint(t *testing.T) {
	w, _ := tunnelWorld(t, nil)
	conn := w.connect("good.example.org:443")
	_, _ = conn.Write(simpleHello(goodName, extension(extensionEncryptedClientHello, make([]byte, 9))))
	_, _ = io.Copy(io.Discard, conn)
	e := waitFor(t, w, Refused)
	if e.Code != "encrypted-server-name" || e.Host != "good.example.org" || e.Rule != "good.example.org (--allow)" || !strings.Contains(e.Hint, "--disable-features=EncryptedClientHello") || e.Command != "" {
		t.Errorf("%+v", e)
	}
}

// waitFor waits for an event.
func waitFor(t *testing.T, w *world, kind EventKind) Event {
	t.Helper()
	eventually(t, fmt.Sprintf("no event of kind %d", kind), func() bool { return len(w.recorded(kind)) > 0 })
	return w.recorded(kind)[0]
}

func TestASecondRequestInATunnelIsDecided(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	good := newSite(t, hello)
	w.Route("good.example.org", 80, good.address())
	conn := w.connect("good.example.org:80")
	_, _ = io.WriteString(conn, plainGet+plainGet+evilGet+plainGet)
	answers, _ := io.ReadAll(conn)
	if strings.Count(string(answers), "HTTP/1.1 200") != 2 || strings.Count(string(answers), "HTTP/1.1 4") != 1 || len(good.received()) != 2 {
		t.Errorf("%d requests arrived: %s", len(good.received()), answers)
	}
	if len(w.Dialed()) != 1 {
		t.Errorf("%d connections for one tunnel", len(w.Dialed()))
	}
}

func TestARequestThatCannotBeReadInATunnelIsRecordedForItsHost(t *testing.T) {
	w, _ := tunnelWorld(t, nil)
	conn := w.connect("good.example.org:80")
	_, _ = io.WriteString(conn, "GET ftp://evil.example.net/ HTTP/1.1\r\n"+goodHost+"\r\n")
	answer, _ := io.ReadAll(conn)
	if e := waitFor(t, w, Refused); e.Code != "bad-target" || e.Host != "good.example.org" || !strings.Contains(string(answer), "aibox refused good.example.org:80") {
		t.Errorf("%+v, %s", e, answer)
	}
}

func TestClientHelloInAnySegmentsPasses(t *testing.T) {
	for name, raw := range map[string][]byte{
		"whole":                goodTLS,
		"in small records":     records(helloMessage(goodName), 7),
		"in capitals":          simpleHello(serverNames("GOOD.Example.org")),
		"with GREASE":          simpleHello(extension(0x0a0a, nil), goodName, extension(0xfafa, []byte{0})),
		"with early data":      append(simpleHello(goodName, earlyExt), record(recordApplicationData, []byte("early"))...),
		"with a second one":    append(bytes.Clone(goodTLS), append(bytes.Clone(changeCS), goodTLS...)...),
		"of 17 KiB":            records(helloMessage(extension(21, make([]byte, 17<<10)), goodName), 1<<14),
		"with data behind":     append(bytes.Clone(goodTLS), record(recordApplicationData, []byte("data"))...),
		"with a key exchange":  append(bytes.Clone(goodTLS), record(recordHandshake, []byte{16, 0, 0, 1, 0})...),
		"with a Finished":      slices.Concat(goodTLS, changeCS, record(recordHandshake, append([]byte{messageClientHello, 0, 1}, make([]byte, 37)...)), record(recordApplicationData, []byte("data"))),
		"with the end of TLS":  slices.Concat(goodTLS, changeCS, record(recordHandshake, append([]byte{messageClientHello, 0, 1}, make([]byte, 37)...)), record(recordAlert, make([]byte, 26))),
		"with a bad last type": append(bytes.Clone(goodTLS), 99, 3, 3),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, server := tunnelWorld(t, nil)
			conn := w.connect("good.example.org:443")
			for len(raw) > 0 { // segments of a few bytes
				n := min(len(raw), 1+len(raw)/7)
				_, _ = conn.Write(raw[:n])
				raw = raw[n:]
			}
			_ = conn.(*net.TCPConn).CloseWrite()
			_, _ = io.Copy(io.Discard, conn)
			if refused := w.recorded(Refused); len(refused) > 0 || len(server.received()) == 0 {
				t.Errorf("%v, %d bytes arrived", refused, len(server.received()))
			}
		})
	}
}

func TestRealTLSPasses(t *testing.T) {
	for name, config := range map[string]*tls.Config{
		"TLS 1.3":            {},
		"TLS 1.2":            {MaxVersion: tls.VersionTLS12},
		"HelloRetryRequest":  {CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP521}},
		"HTTP/2":             {NextProtos: []string{"h2"}},
		"session resumption": {ClientSessionCache: tls.NewLRUClientSessionCache(4)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, attackPolicy(t), nil)
			secure := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
			secure.EnableHTTP2 = true
			secure.TLS = &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP521}}
			secure.StartTLS()
			defer secure.Close()
			w.Route("good.example.org", 443, secure.Listener.Addr().String())
			config.InsecureSkipVerify = true //nolint:gosec // the servers of the test have any certificate
			config.CurvePreferences = append(config.CurvePreferences, tls.CurveP521)
			client := w.client()
			transport := client.Transport.(*http.Transport)
			transport.TLSClientConfig, transport.ForceAttemptHTTP2, transport.DisableKeepAlives = config, name == "HTTP/2", name != "HTTP/2"
			for range 2 {
				response, err := client.Get("https://good.example.org/")
				if err != nil {
					t.Fatal(err)
				}
				body, _ := io.ReadAll(response.Body)
				response.Body.Close()
				if want := map[bool]string{true: "HTTP/2.0", false: "HTTP/1.1"}[name == "HTTP/2"]; string(body) != want {
					t.Errorf("%q, want %q", body, want)
				}
			}
		})
	}
}

func TestATunnelToAnAddressHasNoServerName(t *testing.T) {
	w, server := tunnelWorld(t, nil)
	conn := w.connect("9.9.9.9:443")
	_, _ = conn.Write(simpleHello())
	_ = conn.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, conn)
	if len(server.received()) == 0 || len(w.recorded(Refused)) != 0 {
		t.Error("a tunnel to a listed address did not pass")
	}
	before := len(server.received())
	conn = w.connect("9.9.9.9:443")
	_, _ = conn.Write(simpleHello(serverNames("good.example.org")))
	_ = conn.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, conn)
	if len(server.received()) != before || len(w.recorded(Refused)) != 1 {
		t.Error("a server name passed in a tunnel to an address")
	}
}

// keys is a fake of HostKeys.
type keys struct{ err error }

func (k keys) Guard(_ netguard.Destination, conn net.Conn, refuse func(error)) net.Conn {
	if k.err == nil {
		return conn
	}
	refuse(k.err)
	_ = conn.Close()
	return conn
}

func TestSSHPassesOnlyAfterTheHostKeyIsChecked(t *testing.T) {
	for _, problem := range []error{nil, fmt.Errorf("the host key is not known")} {
		w, server := tunnelWorld(t, func(c *Config) { c.HostKeys = keys{problem} })
		conn := w.connect("ssh.wild.example.org:22")
		_, _ = io.WriteString(conn, "SSH-2.0-x\r\n")
		_ = conn.(*net.TCPConn).CloseWrite()
		_, _ = io.Copy(io.Discard, conn)
		if passed := len(server.received()) > 0; passed != (problem == nil) {
			t.Errorf("%v: %q arrived", problem, server.received())
		}
	}
}
