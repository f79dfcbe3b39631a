package supervisor

import (
	"net"
	"net/netip"
	"strconv"

	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
)

// ProbePlan returns the addresses that a sandbox must and must not be able to reach. They
// are probed before its agent starts. inference reports whether the gateway serves a model.
// host is an address of this machine, or the zero value.
func ProbePlan(spec *session.Spec, inference bool, network runtime.Network, host netip.Addr) probe.Plan {
	mode := spec.Mode()
	guard := func(port int) string {
		return net.JoinHostPort(netguard.Address().String(), strconv.Itoa(port))
	}
	bridge := netip.AddrPortFrom(network.Gateway, 22).String()
	plan := probe.Plan{Probes: []probe.Probe{
		{Name: "own name", Kind: probe.DNS, Target: netguard.Names()[0], Via: guard(netguard.PortDNS), Want: probe.Answers},
		{Name: "public name", Kind: probe.DNS, Target: "example.com", Via: guard(netguard.PortDNS), Want: probe.Refused},
		{Name: "public name server", Kind: probe.DNS, Target: "example.com", Via: "9.9.9.9:53", Want: probe.Refused},
		{Name: "public address", Kind: probe.TCP, Target: "1.1.1.1:443", Want: probe.Refused},
		{Name: "public address by UDP", Kind: probe.UDP, Target: "1.1.1.1:443", Want: probe.Refused},
		{Name: "bridge address by ICMP", Kind: probe.ICMP, Target: network.Gateway.String(), Want: probe.Refused, Quiet: true, Timeout: pingTimeout, Follow: bridge},
		{Name: "public address by IPv6", Kind: probe.TCP, Target: "[2606:4700:4700::1111]:443", Want: probe.Refused},
		{Name: "cloud metadata", Kind: probe.HTTP, Target: "http://169.254.169.254/", Want: probe.Refused},
		{Name: "cloud metadata by IPv6", Kind: probe.TCP, Target: "[fd00:ec2::254]:80", Want: probe.Refused},
		{Name: "host loopback by slirp", Kind: probe.TCP, Target: "10.0.2.2:22", Want: probe.Refused},
		{Name: "name server of slirp", Kind: probe.DNS, Target: "example.com", Via: "10.0.2.3:53", Want: probe.Refused},
		{Name: "bridge address", Kind: probe.TCP, Target: bridge, Want: probe.Refused},
		{Name: "neighbor network", Kind: probe.TCP, Target: netip.AddrPortFrom(neighbor(network), netguard.PortGateway).String(), Want: probe.Refused},
		{Name: "second lifeline", Kind: probe.TCP, Target: guard(netguard.PortLifeline), Want: probe.Refused},
	}}
	gateway := probe.Probe{Name: "inference gateway", Kind: probe.TCP, Target: guard(netguard.PortGateway), Want: probe.Refused}
	if mode.HasInference() && inference {
		gateway.Kind, gateway.Target, gateway.Want = probe.HTTP, gatewayURL()+"/aibox/health", probe.Answers
	}
	own := probe.Probe{Name: "server of own sandboxes", Kind: probe.TCP, Target: guard(netguard.PortSandboxes), Want: probe.Refused}
	if spec.OwnSandboxes() > 0 {
		own.Kind, own.Target, own.Want = probe.HTTP, "http://"+guard(netguard.PortSandboxes)+"/", probe.Answers
	}
	plan.Probes = append(plan.Probes, gateway, own)
	for _, target := range mountTargets(spec) {
		plan.Probes = append(plan.Probes, probe.Probe{Name: "change of " + target, Kind: probe.Write, Target: target, Want: probe.Refused})
	}
	if mode.HasProxy() {
		plan.Probes = append(plan.Probes, proxyProbes(mode, host)...)
	} else {
		plan.Probes = append(plan.Probes, probe.Probe{Name: "egress proxy", Kind: probe.CONNECT, Target: "example.com:443", Via: proxyAddress(), Want: probe.Refused})
	}
	return plan
}

// proxyProbes returns requests that the egress proxy must refuse with every list. The
// policy public allows their ports.
func proxyProbes(mode netguard.Mode, own netip.Addr) []probe.Probe {
	refused := func(name, target string) probe.Probe {
		return probe.Probe{Name: name + " by proxy", Kind: probe.CONNECT, Target: target, Via: proxyAddress(), Want: probe.Refused}
	}
	probes := []probe.Probe{
		{Name: "egress proxy", Kind: probe.HTTP, Target: proxyURL() + "/", Want: probe.Answers},
		refused("cloud metadata", "169.254.169.254:80"),
		{Name: "cloud metadata by plain proxy request", Kind: probe.HTTP, Target: "http://169.254.169.254/", Via: proxyAddress(), Want: probe.Refused},
		refused("cloud metadata in IPv6", "[fd00:ec2::254]:80"),
		refused("mapped cloud metadata", "[::ffff:169.254.169.254]:80"),
		refused("private address", "192.168.1.1:443"),
		refused("host loopback", "127.0.0.1:443"),
		refused("guard's own address", net.JoinHostPort(netguard.Address().String(), "443")),
	}
	if own.IsValid() {
		probes = append(probes, refused("host address", netip.AddrPortFrom(own, 443).String()))
	}
	if mode == netguard.Allowlist {
		// A name that does not exist is in no list, unless the user wrote exactly this one.
		probes = append(probes, refused("unlisted host", "unlisted.aibox.invalid:443"))
	}
	return probes
}

// hostAddress returns an address of this machine that is not a loopback address, or the
// zero value.
func hostAddress() netip.Addr {
	addrs, _ := net.InterfaceAddrs()
	for _, addr := range addrs {
		prefix, err := netip.ParsePrefix(addr.String())
		if err == nil && prefix.Addr().Is4() && prefix.Addr().IsGlobalUnicast() {
			return prefix.Addr()
		}
	}
	return netip.Addr{}
}

// pingTimeout is how long the ICMP probe waits, in milliseconds. gVisor reports no ICMP
// errors to a ping socket, so a refused ping ends by a timeout. The probe therefore pings
// the bridge itself, which would answer within a millisecond, and waits less once the bridge
// has refused a connection that was made after the ping.
const pingTimeout = 25

// neighbor returns the first host of the next /29 network, where another session's
// sandbox could be.
func neighbor(network runtime.Network) netip.Addr {
	address := network.Subnet.Masked().Addr()
	for range 1<<(address.BitLen()-network.Subnet.Bits()) + 2 {
		address = address.Next()
	}
	return address
}
