package inspect

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"aibox/internal/redact"
	"aibox/internal/secret"
	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

// inspectorOf returns an inspector of hosts with secrets, whose value is the canary.
func inspectorOf(t *testing.T, hosts []string, rules ...string) (*Inspector, error) {
	t.Helper()
	var config Config
	for _, text := range hosts {
		config.Hosts = append(config.Hosts, pattern(t, text))
	}
	for _, text := range rules {
		rule, err := netguard.ParseSecretRule(text)
		if err != nil {
			t.Fatal(err)
		}
		config.Secrets = append(config.Secrets, Secret{rule, secret.New(canary)})
	}
	return New(config)
}

// If a server returns the secret in any part of a response, the client gets asterisks.
func TestEveryPartOfAResponseIsRedacted(t *testing.T) {
	for rule, https := range map[string]bool{"T=api.example.org:X-Key": true, "T=http://api.example.org:443:X-Key": false} {
		i, err := inspectorOf(t, []string{"api.example.org"}, rule)
		if err != nil {
			t.Fatal(err)
		}
		response := &http.Response{
			StatusCode: 200, Status: "200 " + canary, Header: http.Header{"X-" + canary: {"one", canary}, "X-Other": {"a " + canary + " b"}},
			Trailer: http.Header{"Y-" + canary: {canary}}, Body: io.NopCloser(strings.NewReader("body " + canary)),
		}
		if err := i.Response(egresstest.Destination(t, api), https, response); err != nil {
			t.Fatal(err)
		}
		have := dump(t, response)
		if strings.Contains(have, canary) || strings.Count(have, "*****") < 21 {
			t.Errorf("%s: %q", rule, have)
		}
		if len(response.Header) != 2 || len(response.Trailer) != 1 {
			t.Errorf("%s: the headers are %v and %v", rule, response.Header, response.Trailer)
		}
	}
}

// If a server encodes the header with the user name and the secret, the client gets asterisks.
func TestTheEncodedFormOfASecretIsRedactedInItself(t *testing.T) {
	i, err := inspectorOf(t, []string{"api.example.org"}, "T=api.example.org:git")
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodGet, "https://api.example.org/", nil)
	if err := i.Request(egresstest.Destination(t, api), true, request); err != nil {
		t.Fatal(err)
	}
	pair := []byte(strings.TrimPrefix(request.Header.Get("Authorization"), "Basic "))
	for _, encoded := range []string{hex.EncodeToString(pair), base64.StdEncoding.EncodeToString(pair)} {
		response := &http.Response{StatusCode: 200, Header: http.Header{"X-Echo": {encoded}}}
		if err := i.Response(egresstest.Destination(t, api), true, response); err != nil {
			t.Fatal(err)
		}
		if have := response.Header.Get("X-Echo"); len(have) != len(encoded) || strings.Count(have, "*") < len(encoded)-4 {
			t.Errorf("%q is returned as %q", encoded, have)
		}
	}
}

func TestOnlyTheSecretOfAHeaderIsRedacted(t *testing.T) {
	const prefix = "a-long-prefix-that-is-no-secret "
	i, err := inspectorOf(t, []string{"api.example.org"}, "T=api.example.org:X-Key="+prefix+"{}")
	if err != nil {
		t.Fatal(err)
	}
	response := &http.Response{StatusCode: 200, Header: http.Header{"X-Echo": {prefix + canary}}}
	if err := i.Response(egresstest.Destination(t, api), true, response); err != nil {
		t.Fatal(err)
	}
	if have := response.Header.Get("X-Echo"); have != prefix+strings.Repeat("*", len(canary)) {
		t.Errorf("%q", have)
	}
}

func TestAResponseWithoutABodyStaysWithoutOne(t *testing.T) {
	i, err := inspectorOf(t, []string{"api.example.org"}, "T=api.example.org:X-Key")
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []io.ReadCloser{nil, http.NoBody} {
		response := &http.Response{StatusCode: 204, Header: http.Header{}, Body: body}
		if err := i.Response(egresstest.Destination(t, api), true, response); err != nil || response.Body != body {
			t.Errorf("the body %v is %v now", body, response.Body)
		}
	}
}

// A header of the sandbox with the name of the secret's header, in any spelling, does not
// reach the server in addition to it.
func TestASecretReplacesEveryFormOfItsHeader(t *testing.T) {
	i, err := inspectorOf(t, []string{"api.example.org"}, "T=api.example.org:x-key")
	if err != nil {
		t.Fatal(err)
	}
	request := httptest.NewRequest(http.MethodPost, "https://api.example.org/", nil)
	request.Header = http.Header{"X-Key": {"of the sandbox", "and more"}}
	request.Trailer = http.Header{"X-Key": {"of the sandbox"}, "X-Sum": {"1"}}
	if err := i.Request(egresstest.Destination(t, api), true, request); err != nil {
		t.Fatal(err)
	}
	if values := request.Header["X-Key"]; len(values) != 1 || values[0] != canary || len(request.Header) != 2 {
		t.Errorf("the header is %v", request.Header)
	}
	if _, ok := request.Trailer["X-Key"]; ok || len(request.Trailer) != 1 {
		t.Errorf("the trailer is %v", request.Trailer)
	}
}

func TestSecretsThatExcludeEachOtherAreRefused(t *testing.T) {
	if _, err := inspectorOf(t, []string{"api.example.org"}, "T=api.example.org:X-Key", "U=api.example.org:x-key"); err == nil {
		t.Error("two secrets have the same header")
	}
	rule, err := netguard.ParseSecretRule("T=api.example.org:X-Key")
	if err != nil {
		t.Fatal(err)
	}
	for size, want := range map[int]bool{redact.Least - 1: false, redact.Least: true, redact.Most: true, redact.Most + 1: false} {
		_, err := New(Config{Hosts: []netguard.Pattern{pattern(t, "api.example.org")}, Secrets: []Secret{{rule, secret.New(strings.Repeat("x", size))}}})
		if (err == nil) != want {
			t.Errorf("a secret of %d bytes: %v", size, err)
		}
	}
}

// decrypt connects a client to the inspector's side of a connection to d.
func decrypt(ctx context.Context, t *testing.T, i *Inspector, d string, config *tls.Config) (client, server error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dialed := make(chan error, 1)
	go func() {
		raw, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			dialed <- err
			return
		}
		c := tls.Client(raw, config)
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if err = c.Handshake(); err == nil {
			_, err = c.Read(make([]byte, 1)) // the tickets of TLS 1.3 come after the handshake
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		_ = raw.Close()
		dialed <- err
	}()
	inside, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	decrypted, server := i.Decrypt(ctx, egresstest.Destination(t, d), inside)
	if server == nil {
		_, _ = decrypted.Write([]byte("x"))
		_ = decrypted.Close()
	}
	_ = inside.Close()
	return <-dialed, server
}

func TestWithoutInspectedHostsThereIsNoAuthority(t *testing.T) {
	i, err := inspectorOf(t, nil, "T=http://api.example.org:X-Key")
	if err != nil {
		t.Fatal(err)
	}
	if pem := i.Authority(); pem != nil || i.Inspects(egresstest.Destination(t, api)) {
		t.Errorf("there is one:\n%s", pem)
	}
}

func TestOnlyInspectedConnectionsAreDecrypted(t *testing.T) {
	i, err := inspectorOf(t, []string{"api.example.org", "9.9.9.9"})
	if err != nil {
		t.Fatal(err)
	}
	insecure := func(name string) *tls.Config { return &tls.Config{InsecureSkipVerify: true, ServerName: name} } //nolint:gosec // the attack
	ctx := context.Background()
	if client, server := decrypt(ctx, t, i, api, insecure("api.example.org")); client != nil || server != nil {
		t.Fatalf("an inspected host: %v, %v", client, server)
	}
	if _, server := decrypt(ctx, t, i, "other.example.org:443", insecure("other.example.org")); server == nil {
		t.Error("a host that is not inspected is decrypted")
	}
	for d, name := range map[string]string{api: "other.example.org", "9.9.9.9:443": "api.example.org"} {
		if _, err := i.certificate(egresstest.Destination(t, d), name); err == nil {
			t.Errorf("%s has a certificate for the server name %s", d, name)
		}
	}
	if _, err := i.certificate(egresstest.Destination(t, "9.9.9.9:443"), ""); err != nil {
		t.Errorf("an address without a server name: %v", err)
	}
	old := insecure("api.example.org")
	old.MinVersion, old.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	if _, server := decrypt(ctx, t, i, api, old); server == nil {
		t.Error("TLS 1.1 is accepted")
	}
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	if _, server := decrypt(canceled, t, i, api, insecure("api.example.org")); server == nil {
		t.Error("a handshake goes on after its end")
	}
}

func TestAClientAndTheProxyAgreeOnTheProtocol(t *testing.T) {
	s := &seen{}
	w := newWorld(t, setup{
		allow: []string{"api.example.org"}, inspect: []string{"api.example.org"},
		servers: map[string]*httptest.Server{api: secureServer(t, s.handler, true, "api.example.org")},
	})
	for _, protocol := range []string{"h2", "http/1.1"} {
		if agreed := w.tls(api, protocol).ConnectionState().NegotiatedProtocol; agreed != protocol {
			t.Errorf("a client that speaks %s agrees on %q", protocol, agreed)
		}
	}
}

// tickets counts the sessions that a client could resume.
type tickets struct{ sessions int }

func (t *tickets) Get(string) (*tls.ClientSessionState, bool) { return nil, false }

func (t *tickets) Put(_ string, session *tls.ClientSessionState) {
	if session != nil {
		t.sessions++
	}
}

// A resumed TLS session would skip the check of the server name.
func TestNoConnectionCanBeResumed(t *testing.T) {
	i, err := inspectorOf(t, []string{"api.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		var cache tickets
		config := &tls.Config{InsecureSkipVerify: true, ServerName: "api.example.org", ClientSessionCache: &cache, MaxVersion: version} //nolint:gosec // the attack
		client, server := decrypt(context.Background(), t, i, api, config)
		if client != nil || server != nil || cache.sessions > 0 {
			t.Errorf("%s: %v, %v, %d tickets", tls.VersionName(version), client, server, cache.sessions)
		}
	}
}

func TestAServerOfAnOldVersionOfTLSIsRefused(t *testing.T) {
	s := &seen{}
	old := secureServer(t, s.handler, false, "old.example.org")
	w := newWorld(t, setup{allow: []string{"*.example.org"}, inspect: []string{"*.example.org"}, servers: map[string]*httptest.Server{"old.example.org:443": old}})
	old.TLS.MinVersion, old.TLS.MaxVersion = tls.VersionTLS10, tls.VersionTLS11
	response, err := w.client(false).Get("https://old.example.org/")
	if err != nil {
		t.Fatal(err)
	}
	if body := dump(t, response); response.StatusCode != http.StatusBadGateway || s.count() != 0 {
		t.Errorf("%q", body)
	}
}
