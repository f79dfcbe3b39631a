package rules

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"

	"aibox/config"
	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/netguard/egress"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/supervisor"
)

// scene is the network of a sandbox with all controls of a session. Tests remove single
// ones.
type scene struct {
	mode     netguard.Mode
	locks    bool // around the bridge
	rejecter bool // refuses packets that the locks refuse at once
	ipv6     bool // the sandbox has an address
	// servers answer at ports of the guard's address, and names at the port of its name server.
	servers map[int]func(net.Listener)
	names   func(net.PacketConn)
	// beside starts servers that must not be reached, and returns the network of the plan.
	beside func(t *testing.T, l *lab, image string) runtime.Network
}

func newScene(mode netguard.Mode) scene {
	s := scene{mode: mode, locks: true, rejecter: true, servers: map[int]func(net.Listener){}, beside: func(_ *testing.T, l *lab, _ string) runtime.Network {
		return l.asNetwork()
	}}
	s.names = func(conn net.PacketConn) { _ = egress.DNS{}.Serve(context.Background(), conn, nil) }
	if mode.HasInference() {
		s.servers[netguard.PortGateway] = serveOK
	}
	if mode.HasProxy() {
		s.servers[netguard.PortProxy] = func(l net.Listener) {
			_ = egress.New(egress.Config{Policy: netguard.NewMatcher(netguard.Policy{Mode: mode})}).Serve(context.Background(), l)
		}
	}
	return s
}

// serveOK answers every HTTP request, also CONNECT, as a proxy without a policy would.
func serveOK(listener net.Listener) {
	_ = http.Serve(listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})) //nolint:gosec // it ends with the listener
}

// resolveAll answers every query for an address.
func resolveAll(conn net.PacketConn) {
	_ = (&dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, question *dns.Msg) {
		answer := new(dns.Msg).SetReply(question)
		record, _ := dns.NewRR(question.Question[0].Name + " 60 A 192.0.2.1")
		answer.Answer = []dns.RR{record}
		_ = w.WriteMsg(answer)
	})}).ActivateAndServe()
}

// asNetwork returns the lab's network as a session would get it.
func (l *lab) asNetwork() runtime.Network {
	gateway := netip.MustParseAddr(l.gateway)
	return runtime.Network{Gateway: gateway, Subnet: netip.PrefixFrom(gateway, 29)}
}

// plan returns the plan of doctor --probe and of every session's start.
func (s scene) plan(network runtime.Network) probe.Plan {
	return supervisor.ProbePlan(&session.Spec{Run: config.Run{Network: s.mode.String()}}, true, network, ownAddress())
}

// ownAddress is an address of this machine that other machines have.
func ownAddress() netip.Addr {
	addrs, _ := net.InterfaceAddrs()
	for _, addr := range addrs {
		if prefix, err := netip.ParsePrefix(addr.String()); err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr()
		}
	}
	return netip.Addr{}
}

// failed runs the probes in a real sandbox, and returns those that failed.
func (s scene) failed(t *testing.T, image string) map[string]string {
	t.Helper()
	prefix := unmatched
	if s.locks {
		prefix = netguard.BridgePrefix + "x"
	}
	var options []string
	if s.ipv6 {
		options = []string{"--ipv6", fmt.Sprintf("--subnet=fd42:%x::/64", rand.IntN(1<<16))}
	}
	l := newLab(t, prefix, image, options...)
	ports := GuardRequest{TCP: slices.Sorted(maps.Keys(s.servers)), UDP: []int{netguard.PortDNS}}
	if len(ports.TCP) == 0 {
		ports.TCP = []int{netguard.PortDNS}
	}
	var sockets *Sockets
	if s.locks {
		var err error
		sockets, err = (Client{Site: site(t)}).Guard(t.Context(), l.bridge, ports)
		must(t, err)
		t.Cleanup(func() { _ = sockets.Close() })
	} else {
		sockets = unguarded(t, "open", l.bridge, ports)
	}
	for port, serve := range s.servers {
		go serve(sockets.TCP[port])
	}
	if s.names != nil {
		go s.names(sockets.UDP[netguard.PortDNS])
	}
	if s.rejecter {
		go func() { _ = sockets.Refuse(context.Background(), nil) }()
	}
	probes := s.plan(s.beside(t, l, image))
	for i := range probes.Probes {
		if p := &probes.Probes[i]; p.Quiet && !s.locks {
			p.Timeout = 5000 // the answer of a busy machine may take longer than a start waits
		}
	}
	plan, err := json.Marshal(probes)
	must(t, err)
	cmd := l.sandbox("plan")
	cmd.Stdin = bytes.NewReader(plan)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("probing: %v\n%s", err, stderr.String())
	}
	var results []probe.Result
	must(t, json.Unmarshal(out, &results))
	failed := map[string]string{}
	for _, r := range probe.Failed(results) {
		failed[r.Name] = r.Detail
	}
	return failed
}

// everything starts the servers that must not be reached: one at the bridge's address and
// one in the sandbox of the next network.
func everything(program string) func(t *testing.T, l *lab, image string) runtime.Network {
	return func(t *testing.T, l *lab, image string) runtime.Network {
		startServer(t, atSite(t, program, "serve", l.gateway+":22"))
		other := newLab(t, unmatched, image)
		startServer(t, other.sandbox("serve", fmt.Sprint(":", netguard.PortGateway)))
		letPast(t, l.bridge, other.bridge)
		network := l.asNetwork()
		before := netip.MustParseAddr(other.gateway).Prev().Prev() // the last address of the network before it
		network.Subnet = netip.PrefixFrom(before, 29).Masked()
		return network
	}
}

// ipv6 gives the bridge the addresses of two probes, and starts servers there.
func ipv6(program string) func(t *testing.T, l *lab, image string) runtime.Network {
	return func(t *testing.T, l *lab, _ string) runtime.Network {
		for address, port := range map[string]string{"2606:4700:4700::1111": "443", "fd00:ec2::254": "80"} {
			inSite(t, fmt.Sprintf("ip -6 address add %s/128 dev %s nodad", address, l.bridge)) // until the bridge is removed
			startServer(t, atSite(t, program, "serve", net.JoinHostPort(address, port)))
		}
		return l.asNetwork()
	}
}

// Each probe of doctor --probe and of every start fails if the control that it checks is
// missing. The controls are really removed, for one bridge of the tests.
func TestEachProbeFailsWithoutItsControl(t *testing.T) {
	needSandboxes(t)
	must(t, (Client{Site: site(t)}).Up(context.Background()))
	program, image := newProber(t)
	without := func(mode netguard.Mode, change func(*scene)) scene {
		s := newScene(mode)
		change(&s)
		return s
	}
	byProxy := []string{
		"cloud metadata by proxy", "cloud metadata by plain proxy request", "cloud metadata in IPv6 by proxy", "mapped cloud metadata by proxy",
		"private address by proxy", "host loopback by proxy", "guard's own address by proxy", "host address by proxy",
	}
	seen := map[string]bool{}
	for name, c := range map[string]struct {
		scene scene
		fails []string
	}{
		"none":      {newScene(netguard.None), nil},
		"local":     {newScene(netguard.Local), nil},
		"allowlist": {newScene(netguard.Allowlist), nil},
		"public":    {newScene(netguard.Public), nil},
		"the locks": {without(netguard.None, func(s *scene) { s.locks = false }), []string{"bridge address by ICMP"}},
		"the locks and the rejecter": {
			without(netguard.None, func(s *scene) { s.locks, s.rejecter, s.beside = false, false, everything(program) }),
			[]string{
				"public name server", "public address", "public address by UDP", "bridge address by ICMP", "cloud metadata",
				"host loopback by slirp", "name server of slirp", "bridge address", "neighbor network",
			},
		},
		"the locks, in a network with IPv6": {
			without(netguard.None, func(s *scene) { s.locks, s.ipv6, s.beside = false, true, ipv6(program) }),
			[]string{"bridge address by ICMP", "public address by IPv6", "cloud metadata by IPv6"},
		},
		"the end of the lifeline's listener": {without(netguard.None, func(s *scene) { s.servers[netguard.PortLifeline] = serveOK }), []string{"second lifeline"}},
		"no server of own sandboxes":         {without(netguard.Local, func(s *scene) { s.servers[netguard.PortSandboxes] = serveOK }), []string{"server of own sandboxes"}},
		"no gateway":                         {without(netguard.None, func(s *scene) { s.servers[netguard.PortGateway] = serveOK }), []string{"inference gateway"}},
		"the gateway":                        {without(netguard.Local, func(s *scene) { s.servers = map[int]func(net.Listener){} }), []string{"inference gateway"}},
		"no proxy":                           {without(netguard.Local, func(s *scene) { s.servers[netguard.PortProxy] = serveOK }), []string{"egress proxy"}},
		"the proxy":                          {without(netguard.Allowlist, func(s *scene) { delete(s.servers, netguard.PortProxy) }), []string{"egress proxy"}},
		"the name server":                    {without(netguard.None, func(s *scene) { s.names = nil }), []string{"own name", "public name"}},
		"the name server's policy":           {without(netguard.None, func(s *scene) { s.names = resolveAll }), []string{"public name"}},
		"the proxy's policy, on a list":      {without(netguard.Allowlist, func(s *scene) { s.servers[netguard.PortProxy] = serveOK }), append([]string{"unlisted host by proxy"}, byProxy...)},
		"the proxy's policy, in public":      {without(netguard.Public, func(s *scene) { s.servers[netguard.PortProxy] = serveOK }), byProxy},
	} {
		t.Run(name, func(t *testing.T) {
			failed := c.scene.failed(t, image)
			for _, name := range c.fails {
				seen[name] = true
				if _, ok := failed[name]; !ok {
					t.Errorf("the probe %q passes", name)
				}
				delete(failed, name)
			}
			if len(failed) > 0 {
				t.Errorf("these probes fail as well: %q", failed)
			}
		})
	}
	for _, mode := range netguard.Modes() {
		for _, p := range newScene(mode).plan(runtime.Network{Gateway: netip.MustParseAddr("10.213.0.1"), Subnet: netip.MustParsePrefix("10.213.0.0/29")}).Probes {
			if !seen[p.Name] {
				t.Errorf("no control was switched off for the probe %q of the policy %s", p.Name, mode)
			}
		}
	}
}
