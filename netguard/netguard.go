// Package netguard defines what a sandbox can reach: one address on the host, a few ports
// on it, and the policies that choose among those ports. It is pure: it opens no socket,
// runs no program and knows neither Docker nor HTTP, so a security reviewer can read it by
// itself.
//
// The packages below it enforce these definitions:
//
//   - rules isolates the bridges in the kernel, by two independent locks: a firewall and
//     routing rules. It also opens the sockets that a session listens on.
//   - gateway forwards inference requests to a model server and holds the real key.
//   - egress makes outgoing connections: an HTTP proxy that enforces a Policy, and a DNS server.
package netguard

import "net/netip"

// The ports on Address. A session can use a port only if a socket on that port is bound
// to the session's bridge.
const (
	PortDNS      = 53    // TCP and UDP: resolves only Names
	PortProxy    = 3128  // TCP: the egress proxy, under Allowlist and Public
	PortGateway  = 11434 // TCP: the inference gateway, on Ollama's own port
	PortLifeline = 11435 // TCP: one connection from the sandbox's PID 1 to its supervisor
	// PortSandboxes is TCP: sandboxes that the agent creates, in sessions whose settings
	// permit them.
	PortSandboxes = 11436
)

// TCPPorts returns all TCP ports that a session can listen on.
func TCPPorts() []int {
	return []int{PortDNS, PortProxy, PortGateway, PortLifeline, PortSandboxes}
}

// BridgePrefix begins the name of every session's bridge. The firewall matches
// on it, so no other interface may use it.
const BridgePrefix = "aibox-"

// Address returns the one IPv4 address that a sandbox can reach. It is assigned to the
// loopback device of the network namespace that holds the bridges. All sessions share it.
func Address() netip.Addr { return netip.AddrFrom4([4]byte{10, 200, 200, 1}) }

// Names returns the host names that resolve to Address inside a sandbox.
func Names() []string { return []string{"gateway.aibox.internal", "aibox"} }
