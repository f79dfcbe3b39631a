package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

// FuzzClientHello compares the reader with crypto/tls: if both accept a ClientHello, they
// read the same server name.
func FuzzClientHello(f *testing.F) {
	for _, attack := range tunnelAttacks {
		f.Add(attack.raw)
	}
	for _, attack := range secondHellos {
		f.Add(attack.first)
	}
	for _, config := range []*tls.Config{{ServerName: "good.example.org"}, {ServerName: "good.example.org", MaxVersion: tls.VersionTLS12, NextProtos: []string{"h2"}}} {
		f.Add(realHello(f, config))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		consumed, hello, err := readClientHello(bufio.NewReaderSize(bytes.NewReader(raw), maxHead))
		if err != nil {
			return
		}
		if !bytes.HasPrefix(raw, consumed) {
			t.Fatal("what is passed on is not what was read")
		}
		name, ok := standardServerName(consumed)
		if !ok {
			return // crypto/tls rejects more, such as unsupported versions
		}
		if name != hello.serverName {
			t.Errorf("the server name is %q, and %q for crypto/tls", hello.serverName, name)
		}
		if hello.check(egresstest.Destination(t, "good.example.org:443")) == nil && !strings.EqualFold(name, "good.example.org") {
			t.Errorf("%q passes as good.example.org", name)
		}
	})
}

// realHello returns the first bytes of a real client.
func realHello(f *testing.F, config *tls.Config) []byte {
	f.Helper()
	client, server := net.Pipe()
	defer server.Close()
	go func() {
		_ = tls.Client(client, config).HandshakeContext(f.Context())
		client.Close()
	}()
	raw := make([]byte, 16<<10)
	n, _ := server.Read(raw)
	return raw[:n]
}

// standardServerName returns the server name that crypto/tls reads.
func standardServerName(raw []byte) (name string, ok bool) {
	stop := errors.New("stop")
	_ = tls.Server(readOnly{bytes.NewReader(raw)}, &tls.Config{
		MinVersion: tls.VersionTLS10, //nolint:gosec // nothing connects
		GetConfigForClient: func(info *tls.ClientHelloInfo) (*tls.Config, error) {
			name, ok = info.ServerName, true
			return nil, stop
		},
	}).HandshakeContext(context.Background())
	return name, ok
}

// readOnly is a connection that can only be read.
type readOnly struct{ io.Reader }

func (readOnly) Write(p []byte) (int, error)      { return len(p), nil }
func (readOnly) Close() error                     { return nil }
func (readOnly) LocalAddr() net.Addr              { return nil }
func (readOnly) RemoteAddr() net.Addr             { return nil }
func (readOnly) SetDeadline(time.Time) error      { return nil }
func (readOnly) SetReadDeadline(time.Time) error  { return nil }
func (readOnly) SetWriteDeadline(time.Time) error { return nil }

// FuzzHead compares the checked request with net/http's reading of it, and with net/http's
// reading of the forwarded request.
func FuzzHead(f *testing.F) {
	for _, attack := range headAttacks {
		f.Add([]byte(attack.raw))
	}
	f.Add([]byte("GET HTTP://GOOD.example.org.:80/a%2fb?c=d HTTP/1.1\r\nhost: good.example.org\r\nConnection: x\r\nX: y\r\n\r\n"))
	f.Add([]byte("POST http://good.example.org/ HTTP/1.1\r\nHost: good.example.org\r\nTransfer-Encoding: chunked\r\nTrailer: T\r\n\r\n1\r\na\r\n0\r\nT: u\r\n\r\n"))
	f.Add([]byte("CONNECT [2606:4700::1111]:443 HTTP/1.1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		reader := bufio.NewReaderSize(bytes.NewReader(raw), maxHead)
		begin, err := peekHead(reader)
		if err != nil {
			return
		}
		h, problem := parseHead(begin)
		if problem != nil {
			return
		}
		to, problem := parseTarget(h, netguard.Destination{}, false)
		if problem != nil {
			return
		}
		request, err := http.ReadRequest(reader)
		if err != nil {
			return // is refused
		}
		if request.Method != h.method || request.RequestURI != h.target {
			t.Errorf("net/http reads %q %q, decided was %q %q", request.Method, request.RequestURI, h.method, h.target)
		}
		if request.Method == http.MethodConnect {
			return
		}
		checkForwarded(t, to, request)
	})
}

// checkForwarded writes a request as the transport does and reads it back.
func checkForwarded(t *testing.T, to netguard.Destination, request *http.Request) {
	t.Helper()
	e := &exchange{proxy: New(Config{}), stream: &stream{conn: readOnly{}}, flow: &flow{to: to}, request: request}
	defer e.watch.end() // a body that is read begins it, and there is no client
	out, _ := e.outgoing(t.Context())
	if d, err := netguard.ParseDestination(out.URL.Host); err != nil || d != to {
		t.Fatalf("%q would be dialed, decided was %s", out.URL.Host, to)
	}
	var wire bytes.Buffer
	if err := out.Write(&wire); err != nil {
		return // is refused
	}
	reader := bufio.NewReaderSize(&wire, maxHead)
	begin, err := peekHead(reader)
	if err != nil {
		return // larger than the proxy accepts
	}
	again, problem := parseHead(begin)
	if problem != nil {
		t.Fatalf("forwarded is %q: %v", begin, problem)
	}
	if d, problem := parseAuthority(again.host, portHTTP); problem != nil || d != to {
		t.Errorf("the Host field is %q, decided was %s", again.host, to)
	}
	if again.method != request.Method || !strings.HasPrefix(again.target, "/") {
		t.Errorf("forwarded is %s %s", again.method, again.target)
	}
	parsed, err := http.ReadRequest(reader)
	if err != nil {
		t.Fatalf("forwarded is %q: %v", begin, err)
	}
	_, _ = io.Copy(io.Discard, parsed.Body)
	if reader.Buffered() > 0 {
		t.Error("more than one request is forwarded")
	}
	for _, name := range hopByHop {
		if value, ok := parsed.Header[name]; ok && name != "Connection" && name != "Upgrade" && name != "Te" {
			t.Errorf("%s: %q is forwarded", name, value)
		}
	}
}

// FuzzDialed compares the allowed host with the resolved and dialed one, for any spelling
// of a host.
func FuzzDialed(f *testing.F) {
	for _, text := range literalAttacks {
		f.Add(strings.TrimSuffix(text, ":80"), uint16(80), []byte{10, 0, 0, 1})
	}
	f.Add("good.example.org", uint16(443), []byte{11, 11, 1, 1, 127, 0, 0, 1})
	f.Add("GOOD.example.org.", uint16(443), []byte{8, 8, 8, 8})
	f.Add("a.wild.example.org", uint16(80), []byte{169, 254, 169, 254})
	f.Add("bad.wild.example.org", uint16(80), []byte{8, 8, 8, 8})
	f.Fuzz(func(t *testing.T, host string, port uint16, resolved []byte) {
		to, problem := parseAuthority(host, port)
		if problem != nil || port == 0 {
			return
		}
		policy := egresstest.Allowlist(t, "good.example.org:*", "*.wild.example.org:*", "9.9.9.9:*")
		deny, _ := netguard.ParseDeny("bad.wild.example.org")
		policy.Deny = []netguard.Rule{{Pattern: deny}}
		network := &fuzzNetwork{resolved: resolved}
		p := New(Config{Policy: netguard.NewMatcher(policy), Resolver: network, Dial: network.dial})
		ctx, flow, problem := p.begin(t.Context(), &stream{}, head{method: http.MethodConnect}, "", nil, to)
		if problem != nil {
			return
		}
		defer flow.end(nil)
		_, _, _ = p.dialer.dial(ctx, to, flow.checkAddress)
		name := to.Host.Name()
		if name != "" && name != "good.example.org" && (!strings.HasSuffix(name, ".wild.example.org") || name == "bad.wild.example.org") {
			t.Errorf("%q was allowed", name)
		}
		for _, asked := range network.asked {
			if asked != name+"." {
				t.Errorf("%q was resolved, decided was %s", asked, to)
			}
		}
		for _, dialed := range network.dialed {
			if netguard.CheckAddress(dialed.Addr()) != 0 || dialed.Port() != to.Port {
				t.Errorf("%s was dialed for %s", dialed, to)
			}
		}
	})
}

// fuzzNetwork resolves every name to the addresses in its bytes, and never connects.
type fuzzNetwork struct {
	resolved []byte
	asked    []string
	dialed   []netip.AddrPort
}

func (n *fuzzNetwork) LookupNetIP(_ context.Context, _, host string) (found []netip.Addr, _ error) {
	n.asked = append(n.asked, host)
	size := 4
	if len(n.resolved)%16 == 0 {
		size = 16
	}
	for i := 0; i+size <= len(n.resolved); i += size {
		addr, _ := netip.AddrFromSlice(n.resolved[i : i+size])
		found = append(found, addr)
	}
	return found, nil
}

func (n *fuzzNetwork) dial(_ context.Context, address netip.AddrPort) (net.Conn, error) {
	n.dialed = append(n.dialed, address)
	return nil, errors.New("no network")
}
