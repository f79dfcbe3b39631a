package sshkey

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

// newKey returns a host key of a type.
func newKey(t testing.TB, kind string) ssh.Signer {
	t.Helper()
	var key any
	var err error
	switch kind {
	case ssh.KeyAlgoED25519:
		_, key, err = ed25519.GenerateKey(rand.Reader)
	case ssh.KeyAlgoECDSA256:
		key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case ssh.KeyAlgoRSA:
		key, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// serve starts an SSH server that accepts everyone. It counts the attempts to authenticate.
func serve(t testing.TB, keys []ssh.Signer, exchanges ...string) (address string, attempts chan struct{}) {
	t.Helper()
	attempts = make(chan struct{}, 100)
	config := &ssh.ServerConfig{NoClientAuth: true, NoClientAuthCallback: func(ssh.ConnMetadata) (*ssh.Permissions, error) {
		attempts <- struct{}{}
		return nil, nil
	}}
	config.KeyExchanges = exchanges
	for _, key := range keys {
		config.AddHostKey(key)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveConn(conn, config)
		}
	}()
	return listener.Addr().String(), attempts
}

// serveConn prints a greeting to each session.
func serveConn(conn net.Conn, config *ssh.ServerConfig) {
	defer conn.Close()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go func() {
			for request := range requests {
				_ = request.Reply(true, nil)
				if request.Type == "exec" || request.Type == "shell" {
					fmt.Fprint(channel, "hello from the server\n")
					_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, 0})
					_ = channel.Close()
				}
			}
		}()
	}
}

// known returns known_hosts with these lines.
func known(t testing.TB, lines ...string) *KnownHosts {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return New(file, file+".missing")
}

// relay listens, and passes each connection to the server through a guard.
func relay(t testing.TB, k *KnownHosts, d netguard.Destination, server string) (address string, refusals chan error) {
	t.Helper()
	refusals = make(chan error, 100)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil {
				return
			}
			guarded := k.Guard(d, upstream, func(err error) { refusals <- err })
			go func() {
				_, _ = io.Copy(guarded, client)
				_ = guarded.Close()
			}()
			go func() {
				_, _ = io.Copy(client, guarded)
				_ = client.Close()
			}()
		}
	}()
	return listener.Addr().String(), refusals
}

// connect makes a client connection that accepts any key, like an agent's without
// known_hosts.
func connect(address string, config ssh.ClientConfig) error {
	config.HostKeyCallback = ssh.InsecureIgnoreHostKey() //nolint:gosec // the attack
	config.User, config.Timeout = "agent", time.Minute
	client, err := ssh.Dial("tcp", address, &config)
	if err == nil {
		_ = client.Close()
	}
	return err
}

const host = "git.example.org:22"

func TestAKnownServerPasses(t *testing.T) {
	for _, kind := range []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoRSA} {
		key := newKey(t, kind)
		for name, line := range map[string]string{
			"plain":  knownhosts.Line([]string{"git.example.org"}, key.PublicKey()),
			"hashed": knownhosts.Line([]string{knownhosts.HashHostname("git.example.org")}, key.PublicKey()),
			"glob":   knownhosts.Line([]string{"*.example.org"}, key.PublicKey()),
		} {
			server, attempts := serve(t, []ssh.Signer{key})
			address, refusals := relay(t, known(t, line), egresstest.Destination(t, host), server)
			if err := connect(address, ssh.ClientConfig{}); err != nil || len(attempts) != 1 || len(refusals) != 0 {
				t.Errorf("%s, %s: %v, %d attempts", kind, name, err, len(attempts))
			}
		}
	}
}

func TestEveryKeyExchangeIsFollowed(t *testing.T) {
	key, other := newKey(t, ssh.KeyAlgoED25519), newKey(t, ssh.KeyAlgoED25519)
	line := knownhosts.Line([]string{"git.example.org"}, key.PublicKey())
	for _, method := range []string{
		ssh.KeyExchangeMLKEM768X25519, ssh.KeyExchangeCurve25519, ssh.KeyExchangeECDHP256, ssh.KeyExchangeECDHP384, ssh.KeyExchangeECDHP521,
		ssh.KeyExchangeDH14SHA256, ssh.KeyExchangeDH16SHA512, ssh.KeyExchangeDHGEXSHA256, ssh.InsecureKeyExchangeDHGEXSHA1, ssh.InsecureKeyExchangeDH14SHA1,
	} {
		for _, signer := range []ssh.Signer{key, other} {
			server, attempts := serve(t, []ssh.Signer{signer}, method)
			address, refusals := relay(t, known(t, line), egresstest.Destination(t, host), server)
			err := connect(address, ssh.ClientConfig{Config: ssh.Config{KeyExchanges: []string{method}}})
			if signer == key && (err != nil || len(refusals) != 0) {
				t.Errorf("%s: %v", method, err)
			}
			if signer == other && (err == nil || len(attempts) != 0) {
				t.Errorf("%s: a changed key passes", method)
			}
		}
	}
}

func TestAServerThatIsNotKnownIsCutOffBeforeAuthentication(t *testing.T) {
	key, other := newKey(t, ssh.KeyAlgoED25519), newKey(t, ssh.KeyAlgoED25519)
	kind := newKey(t, ssh.KeyAlgoECDSA256)
	public := func(s ssh.Signer, hosts ...string) string { return knownhosts.Line(hosts, s.PublicKey()) }
	for name, c := range map[string]struct {
		lines []string
		host  string
		want  string
	}{
		"empty":                             {nil, host, "connect to it yourself once, with: ssh git.example.org"},
		"changed":                           {[]string{public(other, "git.example.org")}, host, "has changed"},
		"another host":                      {[]string{public(key, "www.example.org")}, host, "is not in your known_hosts"},
		"another port":                      {[]string{public(key, "git.example.org")}, "git.example.org:2222", "ssh -p 2222 git.example.org"},
		"another type":                      {[]string{public(kind, "git.example.org")}, host, "HostKeyAlgorithms=ssh-ed25519"},
		"revoked":                           {[]string{public(key, "git.example.org"), "@revoked * " + strings.SplitN(public(key, "x"), " ", 2)[1]}, host, "is revoked"},
		"negated":                           {[]string{public(key, "*.example.org,!git.example.org")}, host, "not in your known_hosts"},
		"a revoked key that cannot be read": {[]string{public(key, "git.example.org"), "@revoked * ssh-ed25519 !!!"}, host, "cannot be read"},
		"an authority that cannot be read":  {[]string{public(key, "git.example.org"), "@cert-authority * ssh-unknown AAAA"}, host, "known_hosts:2: "},
		"revoked after a line that cannot be read": {[]string{"git.example.org ssh-ed25519 !!!", public(key, "git.example.org"), "@revoked * " + strings.SplitN(public(key, "x"), " ", 2)[1]}, host, "is revoked"},
		"only a line that cannot be read":          {[]string{"git.example.org ssh-unknown " + strings.SplitN(public(key, "x"), " ", 3)[2]}, host, "not in your known_hosts"},
	} {
		server, attempts := serve(t, []ssh.Signer{key})
		address, refusals := relay(t, known(t, c.lines...), egresstest.Destination(t, c.host), server)
		err := connect(address, ssh.ClientConfig{})
		if err == nil || !strings.Contains(err.Error(), "aibox: ") {
			t.Errorf("%s: the client receives %v", name, err)
		}
		select {
		case why := <-refusals:
			if !strings.Contains(why.Error(), c.want) {
				t.Errorf("%s: %v", name, why)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: no reason", name)
		}
		if len(attempts) != 0 {
			t.Errorf("%s: the client could authenticate", name)
		}
	}
}

func TestCertificatesOfHosts(t *testing.T) {
	authority, key := newKey(t, ssh.KeyAlgoED25519), newKey(t, ssh.KeyAlgoED25519)
	for name, c := range map[string]struct {
		principal string
		expires   uint64
		pass      bool
	}{
		"valid": {"git.example.org", ssh.CertTimeInfinity, true}, "another host": {"www.example.org", ssh.CertTimeInfinity, false}, "expired": {"git.example.org", 1, false},
	} {
		certificate := &ssh.Certificate{Key: key.PublicKey(), CertType: ssh.HostCert, ValidPrincipals: []string{c.principal}, ValidBefore: c.expires}
		if err := certificate.SignCert(rand.Reader, authority); err != nil {
			t.Fatal(err)
		}
		signer, err := ssh.NewCertSigner(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		server, attempts := serve(t, []ssh.Signer{signer})
		address, _ := relay(t, known(t, "@cert-authority "+knownhosts.Line([]string{"*.example.org"}, authority.PublicKey())), egresstest.Destination(t, host), server)
		err = connect(address, ssh.ClientConfig{})
		if (err == nil) != c.pass || len(attempts) == 0 == c.pass {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAKeyIsKnownAsSoonAsTheUserAddsIt(t *testing.T) {
	key := newKey(t, ssh.KeyAlgoED25519)
	k := known(t)
	server, _ := serve(t, []ssh.Signer{key})
	address, _ := relay(t, k, egresstest.Destination(t, host), server)
	if err := connect(address, ssh.ClientConfig{}); err == nil {
		t.Fatal("an unknown key passes")
	}
	if err := os.WriteFile(k.files[0], []byte(knownhosts.Line([]string{"git.example.org"}, key.PublicKey())+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := connect(address, ssh.ClientConfig{}); err != nil {
		t.Error(err)
	}
}

// OpenSSH skips these lines, too, so the user can connect and would not find out which line it is.
func TestLinesThatCannotBeReadAreSkipped(t *testing.T) {
	key, other := newKey(t, ssh.KeyAlgoED25519), newKey(t, ssh.KeyAlgoED25519)
	public := knownhosts.Line([]string{"git.example.org"}, key.PublicKey())
	withoutHost := strings.TrimPrefix(public, "git.example.org")
	for name, line := range map[string]string{
		"SSH-1":                     "www.example.org 1024 35 1234567890",
		"another kind":              "www.example.org ssh-unknown " + strings.SplitN(public, " ", 3)[2],
		"an unknown marker":         "@unknown " + public,
		"no base64":                 "www.example.org ssh-ed25519 !!!",
		"one word":                  "www.example.org",
		"brackets without a port":   "[www.example.org]" + withoutHost,
		"a negation without a name": "www.example.org,!" + withoutHost,
		"a hash that is no base64":  "|1|x|y" + withoutHost,
		"another kind of hash":      "|2|eA==|eA==" + withoutHost,
		"a very long line":          "www.example.org" + withoutHost + strings.Repeat(" comment", 1<<14),
		"another kind of space":     "\v",
	} {
		k := known(t, "# a comment", line, "", public)
		if err := k.Check(egresstest.Destination(t, host), key.PublicKey()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := k.Check(egresstest.Destination(t, host), other.PublicKey()); err == nil || !strings.Contains(err.Error(), "has changed") || !strings.HasSuffix(err.Error(), k.files[0]+":4") {
			t.Errorf("%s: another key: %v", name, err)
		}
		if lines, err := k.Lines(egresstest.Destination(t, host)); err != nil || len(lines) != 1 {
			t.Errorf("%s: %q, %v", name, lines, err)
		}
	}
}

func TestLinesForTheSandbox(t *testing.T) {
	a, b := newKey(t, ssh.KeyAlgoED25519), newKey(t, ssh.KeyAlgoECDSA256)
	k := known(t, knownhosts.Line([]string{knownhosts.HashHostname("git.example.org")}, a.PublicKey()), knownhosts.Line([]string{"*.example.org"}, b.PublicKey()), knownhosts.Line([]string{"www.example.org"}, b.PublicKey()))
	lines, err := k.Lines(egresstest.Destination(t, host))
	if err != nil || len(lines) != 2 {
		t.Fatalf("%q, %v", lines, err)
	}
	sandbox := known(t, lines...)
	for _, key := range []ssh.Signer{a, b} {
		if err := sandbox.Check(egresstest.Destination(t, host), key.PublicKey()); err != nil {
			t.Error(err)
		}
	}
	if lines, err := k.Lines(egresstest.Destination(t, "other.example.net:22")); err != nil || len(lines) != 0 {
		t.Errorf("%q, %v", lines, err)
	}
}

// The real client offers more than the library does: strict key exchange, extensions, and
// methods that the library does not know.
func TestOpenSSHPassesAndPrintsTheRefusal(t *testing.T) {
	program, err := exec.LookPath("ssh")
	if err != nil {
		t.Fatal("this test needs OpenSSH's client")
	}
	key, other := newKey(t, ssh.KeyAlgoED25519), newKey(t, ssh.KeyAlgoED25519)
	server, _ := serve(t, []ssh.Signer{key})
	run := func(k *KnownHosts) (string, error) {
		address, _ := relay(t, k, egresstest.Destination(t, host), server)
		name, port, _ := net.SplitHostPort(address)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, program, "-F", "none", "-p", port, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile="+filepath.Join(t.TempDir(), "known_hosts"), "-o", "BatchMode=yes", "agent@"+name, "true").CombinedOutput() //nolint:gosec // a test
		return string(out), err
	}
	if out, err := run(known(t, knownhosts.Line([]string{"git.example.org"}, key.PublicKey()))); err != nil || !strings.Contains(out, "hello from the server") {
		t.Errorf("%v: %s", err, out)
	}
	if out, err := run(known(t, knownhosts.Line([]string{"git.example.org"}, other.PublicKey()))); err == nil || !strings.Contains(out, "aibox: the host key of git.example.org:22 has changed") {
		t.Errorf("%v: %s", err, out)
	}
}
