package supervisor

import (
	"net"
	"net/netip"
	"strconv"

	"aibox/internal/probe"
	"aibox/netguard"
	"aibox/runtime"
)

// ProbePlan returns what a sandbox's network must and must not reach, which is probed
// before its agent starts. inference reports whether the gateway serves a model.
func ProbePlan(mode netguard.Mode, inference bool, network runtime.Network) probe.Plan {
	guard := func(port int) string {
		return net.JoinHostPort(netguard.Address().String(), strconv.Itoa(port))
	}
	plan := probe.Plan{Probes: []probe.Probe{
		{Name: "own name", Kind: probe.DNS, Target: netguard.Names()[0], Via: guard(netguard.PortDNS), Want: probe.Answers},
		{Name: "public name", Kind: probe.DNS, Target: "example.com", Via: guard(netguard.PortDNS), Want: probe.Refused},
		{Name: "public name server", Kind: probe.DNS, Target: "example.com", Via: "9.9.9.9:53", Want: probe.Refused},
		{Name: "public address", Kind: probe.TCP, Target: "1.1.1.1:443", Want: probe.Refused},
		{Name: "public address by UDP", Kind: probe.UDP, Target: "1.1.1.1:443", Want: probe.Refused},
		{Name: "bridge address by ICMP", Kind: probe.ICMP, Target: network.Gateway.String(), Want: probe.Refused, Quiet: true, Timeout: pingTimeout},
		{Name: "public address by IPv6", Kind: probe.TCP, Target: "[2606:4700:4700::1111]:443", Want: probe.Refused},
		{Name: "cloud metadata", Kind: probe.HTTP, Target: "http://169.254.169.254/", Want: probe.Refused},
		{Name: "cloud metadata by IPv6", Kind: probe.TCP, Target: "[fd00:ec2::254]:80", Want: probe.Refused},
		{Name: "host loopback by slirp", Kind: probe.TCP, Target: "10.0.2.2:22", Want: probe.Refused},
		{Name: "name server of slirp", Kind: probe.DNS, Target: "example.com", Via: "10.0.2.3:53", Want: probe.Refused},
		{Name: "bridge address", Kind: probe.TCP, Target: netip.AddrPortFrom(network.Gateway, 22).String(), Want: probe.Refused},
		{Name: "neighbor network", Kind: probe.TCP, Target: netip.AddrPortFrom(neighbor(network), netguard.PortGateway).String(), Want: probe.Refused},
		{Name: "egress proxy", Kind: probe.CONNECT, Target: "example.com:443", Via: guard(netguard.PortProxy), Want: probe.Refused},
		{Name: "second lifeline", Kind: probe.TCP, Target: guard(netguard.PortLifeline), Want: probe.Refused},
	}}
	gateway := probe.Probe{Name: "inference gateway", Kind: probe.TCP, Target: guard(netguard.PortGateway), Want: probe.Refused}
	if mode.HasInference() && inference {
		gateway.Kind, gateway.Target, gateway.Want = probe.HTTP, gatewayURL()+"/aibox/health", probe.Answers
	}
	plan.Probes = append(plan.Probes, gateway)
	return plan
}

// pingTimeout is how long the ICMP probe waits, in milliseconds. gVisor reports no ICMP
// errors to a ping socket, so a refusal looks like a timeout. The probe therefore pings
// the bridge itself, which would answer within a millisecond.
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
