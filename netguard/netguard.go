// Package netguard says what a box may reach: the address and ports of the
// guard, the policies, and the decision for one destination. It is pure: it opens
// no socket, runs no program and knows neither Docker nor HTTP, so that a
// security reviewer can read it alone. Its folders enforce it: rules (alias,
// firewall and routing), gateway (inference) and egress (DNS).
package netguard

import "net/netip"

// The guard's ports on Address. Which of them a session really has is decided by
// the sockets that are bound to its bridge.
const (
	PortDNS      = 53    // TCP and UDP: answers only the guard's own names
	PortProxy    = 3128  // TCP: the egress proxy
	PortGateway  = 11434 // TCP: the inference gateway, on Ollama's own port
	PortLifeline = 11435 // TCP: the box's first process to its supervisor, one connection
)

// BridgePrefix begins the name of every session's bridge. The firewall matches
// on it, so nothing else may use it.
const BridgePrefix = "aibox-"

// Address is the one IPv4 address that a box can reach. It is put on the loopback
// device of the namespace where the bridges are; every session has the same.
func Address() netip.Addr { return netip.AddrFrom4([4]byte{10, 200, 200, 1}) }

// Names are the names that Address has inside a box.
func Names() []string { return []string{"gateway.aibox.internal", "aibox"} }
