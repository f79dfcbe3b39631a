package netguard

import (
	"fmt"
	"strings"
)

// Policy says what network access a session has. The zero value is invalid: it prints as
// "invalid" and allows nothing.
type Policy uint8

// The policies, from closed to open.
const (
	None  Policy = iota + 1 // no inference either: the lifeline and a resolver that knows no name
	Local                   // the inference gateway only
)

// ParsePolicy parses a policy's name.
func ParsePolicy(name string) (Policy, error) {
	for _, policy := range Policies() {
		if policy.String() == name {
			return policy, nil
		}
	}
	return 0, fmt.Errorf("unknown network policy %q: want %s", name, strings.Join(policyNames(), " or "))
}

// Policies lists every policy, from closed to open.
func Policies() []Policy { return []Policy{None, Local} }

// String returns the policy's name.
func (p Policy) String() string {
	switch p {
	case None:
		return "none"
	case Local:
		return "local"
	default:
		return "invalid"
	}
}

// MarshalText writes the name; an invalid policy is an error.
func (p Policy) MarshalText() ([]byte, error) {
	if p != None && p != Local {
		return nil, fmt.Errorf("network policy %d is not valid", p)
	}
	return []byte(p.String()), nil
}

// UnmarshalText parses a name like ParsePolicy.
func (p *Policy) UnmarshalText(text []byte) error {
	policy, err := ParsePolicy(string(text))
	if err == nil {
		*p = policy
	}
	return err
}

// Set parses a name like ParsePolicy. With Type and String it makes *Policy a command-line
// flag.
func (p *Policy) Set(name string) error { return p.UnmarshalText([]byte(name)) }

// Type returns the name of the value in help texts.
func (p *Policy) Type() string { return "policy" }

// TCPPorts returns the ports on Address that a session under p gets a listener for;
// none when p is invalid.
func (p Policy) TCPPorts() []int {
	switch p {
	case None:
		return []int{PortLifeline, PortDNS}
	case Local:
		return []int{PortGateway, PortLifeline, PortDNS}
	default:
		return nil
	}
}

// UDPPorts returns the ports on Address that a session under p gets a packet socket
// for; none when p is invalid.
func (p Policy) UDPPorts() []int {
	switch p {
	case None, Local:
		return []int{PortDNS}
	default:
		return nil
	}
}

// Protocol is a transport protocol. The zero value stands for every protocol but TCP
// and UDP, such as ICMP.
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

func policyNames() []string {
	var names []string
	for _, policy := range Policies() {
		names = append(names, policy.String())
	}
	return names
}
