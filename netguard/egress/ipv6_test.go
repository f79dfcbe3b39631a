package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/netguard/egress/egresstest"
)

// public6 looks like a public address. In the namespace of the test below it is the machine's.
const public6 = "2606:4700::1"

// inNamespace runs the calling test again in a user and network namespace of its own, which
// routes public6 to itself. It reports true in there. It fails the test on a machine whose
// kernel has no IPv6.
func inNamespace(t *testing.T) bool {
	t.Helper()
	if os.Getenv("AIBOX_TEST_NAMESPACE") == t.Name() {
		return true
	}
	socket, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if errors.Is(err, syscall.EAFNOSUPPORT) {
		t.Fatal("this machine's kernel has no IPv6, so nothing is known about connections over it")
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = unix.Close(socket)
	const script = `echo 0 >/proc/sys/net/ipv6/conf/all/disable_ipv6; ip link set lo up; ip -6 route add local ` + public6 + `/128 dev lo; exec "$@"`
	cmd := exec.Command("unshare", "-rn", "--", "sh", "-ec", script, "sh", os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.count=1")
	cmd.Env = append(os.Environ(), "AIBOX_TEST_NAMESPACE="+t.Name(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("in a namespace of its own: %v\n%s", err, out)
	}
	return false
}

// names resolves every name to these addresses.
type names []netip.Addr

func (n names) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return slices.Clone(n), nil
}

// The connection is a real one: nothing replaces the proxy's own dialer.
func TestDataPassesOverIPv6(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	site := newSite(t, hello)
	listener, err := net.Listen("tcp6", "[::]:80")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { _ = site.Config.Serve(listener) }()
	for name, resolved := range map[string][]netip.Addr{
		"only IPv6":                  addresses(public6),
		"IPv6 and then IPv4":         addresses(public6, "11.11.1.1"),
		"IPv4 without a route, IPv6": addresses("11.11.1.1", public6),
	} {
		w := newWorld(t, egresstest.Allowlist(t, "good.example.org", "["+public6+"]"), func(c *Config) { c.Dial, c.Resolver = nil, names(resolved) })
		for _, host := range []string{"good.example.org", "[" + public6 + "]"} {
			response, err := w.client().Post("http://"+host+"/", "text/plain", strings.NewReader("xyz"))
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			_ = response.Body.Close()
			if response.StatusCode != http.StatusOK || string(body) != "POST "+host+" xyz" {
				t.Errorf("%s: %s: %d %q", name, host, response.StatusCode, body)
			}
			tunnel := w.connect(host + ":80")
			if _, err := io.WriteString(tunnel, "GET / HTTP/1.1\r\nHost: "+host+"\r\nConnection: close\r\n\r\n"); err != nil {
				t.Fatal(err)
			}
			if answer, err := io.ReadAll(tunnel); err != nil || !strings.HasSuffix(string(answer), "GET "+host+" ") {
				t.Errorf("%s: %s through a tunnel: %q, %v", name, host, answer, err)
			}
		}
		events := w.recorded(Allowed)
		for _, e := range events {
			if e.Address != netip.MustParseAddr(public6) {
				t.Errorf("%s: recorded %+v", name, e)
			}
		}
		if len(events) == 0 {
			t.Errorf("%s: nothing was recorded", name)
		}
	}
}
