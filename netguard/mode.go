package netguard

import (
	"fmt"
	"strings"
)

// Mode is the extent of a session's network access. The zero value is invalid: it prints as
// "invalid" and allows nothing.
type Mode uint8

// The modes, from closed to open. None of them has a route out of the sandbox: Allowlist and
// Public add a proxy on the host, which decides about each connection.
const (
	None      Mode = iota + 1 // no inference, either: only the lifeline and a resolver that resolves no name
	Local                     // the inference gateway only
	Allowlist                 // the gateway, and a proxy to the listed hosts
	Public                    // the gateway, and a proxy to every public host that is not denied
)

var modes = [...]string{None: "none", Local: "local", Allowlist: "allowlist", Public: "public"}

// ParseMode parses a mode's name.
func ParseMode(name string) (Mode, error) {
	for _, mode := range Modes() {
		if mode.String() == name {
			return mode, nil
		}
	}
	return 0, fmt.Errorf("unknown network policy %q: want one of %s", name, strings.Join(modes[None:], ", "))
}

// Modes lists every mode, from closed to open.
func Modes() []Mode { return []Mode{None, Local, Allowlist, Public} }

func (m Mode) valid() bool { return m > 0 && int(m) < len(modes) }

// HasInference reports whether a sandbox reaches the inference gateway.
func (m Mode) HasInference() bool { return m.valid() && m != None }

// HasProxy reports whether a sandbox reaches the egress proxy.
func (m Mode) HasProxy() bool { return m == Allowlist || m == Public }

// String returns the mode's name.
func (m Mode) String() string {
	if !m.valid() {
		return "invalid"
	}
	return modes[m]
}

// MarshalText writes the name; an invalid mode is an error.
func (m Mode) MarshalText() ([]byte, error) {
	if !m.valid() {
		return nil, fmt.Errorf("network policy %d is not valid", m)
	}
	return []byte(m.String()), nil
}

// UnmarshalText parses a name like ParseMode.
func (m *Mode) UnmarshalText(text []byte) error {
	mode, err := ParseMode(string(text))
	if err == nil {
		*m = mode
	}
	return err
}

// Set parses a name like ParseMode. With Type and String it makes *Mode a command-line
// flag.
func (m *Mode) Set(name string) error { return m.UnmarshalText([]byte(name)) }

// Type returns the name of the value in help texts.
func (m *Mode) Type() string { return "policy" }

// TCPPorts returns the ports on Address that a session under m gets a listener for;
// none when m is invalid.
func (m Mode) TCPPorts() []int {
	var ports []int
	if m.HasInference() {
		ports = append(ports, PortGateway)
	}
	if m.HasProxy() {
		ports = append(ports, PortProxy)
	}
	if m.valid() {
		ports = append(ports, PortLifeline, PortDNS)
	}
	return ports
}

// UDPPorts returns the ports on Address that a session under m gets a packet socket
// for; none when m is invalid.
func (m Mode) UDPPorts() []int {
	if !m.valid() {
		return nil
	}
	return []int{PortDNS}
}

// Protocol is a transport protocol. The zero value means every protocol but TCP and UDP,
// such as ICMP.
type Protocol uint8

// The protocols that have ports.
const (
	TCP Protocol = iota + 1
	UDP
)

// String returns the protocol's name.
func (p Protocol) String() string {
	switch p {
	case TCP:
		return "tcp"
	case UDP:
		return "udp"
	default:
		return "other"
	}
}
