package egress

import (
	"context"
	"net"
	"strings"
	"testing"

	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

// reachingAgent passes on what the proxy says about logins to servers.
type reachingAgent chan func(netguard.Destination) string

func (a reachingAgent) Serve(_ context.Context, conn net.Conn, reach func(netguard.Destination) string, _ func(netguard.Destination, string, string)) {
	a <- reach
	_ = conn.Close()
}

// The connection of a login can lead to its server through another host, so the policy decides
// about the login, too.
func TestLoginsAreForServersThatTheSessionMayReach(t *testing.T) {
	agent := make(reachingAgent, 1)
	w := newWorld(t, egresstest.Allowlist(t, "git.example.org:22"), func(c *Config) { c.SSHAgent = agent })
	conn := w.dialProxy()
	if _, err := conn.Write([]byte("CONNECT " + netguard.SSHAgent().String() + " HTTP/1.1\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	reach := <-agent
	git, err := netguard.ParseDestination("git.example.org:22")
	if err != nil {
		t.Fatal(err)
	}
	decides := func(about, want string) {
		t.Helper()
		if got := reach(git); !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", about, got)
		}
	}
	decides("an allowed server", "")
	w.proxy.SetPolicy(netguard.NewMatcher(egresstest.Allowlist(t, "other.example.org:22")))
	decides("a server that is not listed", "no entry of the allow list")
	_, f, problem := w.proxy.begin(t.Context(), &stream{once: true}, head{method: "CONNECT"}, "", nil, git)
	if problem != nil {
		t.Fatal(problem)
	}
	decides("a server to which a tunnel is open that the user allowed once", "")
	f.end(nil)
	decides("after its end", "no entry of the allow list")
	denied := egresstest.Allowlist(t, "git.example.org:22")
	pattern, err := netguard.ParseDeny("git.example.org")
	if err != nil {
		t.Fatal(err)
	}
	denied.Deny = []netguard.Rule{{Pattern: pattern}}
	w.proxy.SetPolicy(netguard.NewMatcher(denied))
	decides("a denied server", "deny list")
}
