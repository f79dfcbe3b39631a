package netguard

import (
	"fmt"
	"net/netip"
	"strings"
)

// Policy is how much network a session has. The zero value is no policy at all:
// it prints as "invalid" and allows nothing.
type Policy uint8

// The policies, from closed to open.
const (
	None  Policy = iota + 1 // no inference either: the lifeline and a resolver that knows no name
	Local                   // the inference gateway only
)

// ParsePolicy reads a policy's name.
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

// String is the policy's name.
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

// UnmarshalText reads a name as ParsePolicy does.
func (p *Policy) UnmarshalText(text []byte) error {
	policy, err := ParsePolicy(string(text))
	if err == nil {
		*p = policy
	}
	return err
}

// Set reads a name as ParsePolicy does; with Type and String it makes *Policy a
// command-line flag.
func (p *Policy) Set(name string) error { return p.UnmarshalText([]byte(name)) }

// Type names the kind of value in help texts.
func (p *Policy) Type() string { return "policy" }

// TCPPorts are the ports on Address that a session under p gets a listener for;
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

// UDPPorts are the ports on Address that a session under p gets a packet socket
// for; none when p is invalid.
func (p Policy) UDPPorts() []int {
	switch p {
	case None, Local:
		return []int{PortDNS}
	default:
		return nil
	}
}

// Protocol is a transport protocol as far as policies tell them apart.
type Protocol uint8

// The protocols. Other stands for ICMP and all else, and is the zero value: it is
// never allowed.
const (
	Other Protocol = iota
	TCP
	UDP
)

// String is the protocol's name.
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

// Endpoint is one destination that a box asks for.
type Endpoint struct {
	Protocol Protocol
	Addr     netip.Addr
	Port     uint16
}

// Verdict is the decision for one destination. Its zero value denies.
type Verdict struct {
	Allowed bool
	Reason  string // one clause for people
	Rule    string // which rule decided, stable, for logs: "local/gateway"
}

// Decide says whether a box under p may reach e. It allocates nothing.
func (p Policy) Decide(e Endpoint) Verdict {
	if p != None && p != Local {
		return Verdict{Reason: "no valid policy", Rule: "invalid"}
	}
	if e.Addr != Address() {
		return Verdict{Reason: "the box has no route out", Rule: "no-route"}
	}
	switch {
	case e.Protocol == TCP && e.Port == PortLifeline:
		return Verdict{Allowed: true, Reason: "the box's own lifeline", Rule: "lifeline"}
	case (e.Protocol == TCP || e.Protocol == UDP) && e.Port == PortDNS:
		return Verdict{Allowed: true, Reason: "the guard's own resolver", Rule: "resolver"}
	case e.Protocol == TCP && e.Port == PortGateway && p == Local:
		return Verdict{Allowed: true, Reason: "the inference gateway", Rule: "gateway"}
	case e.Protocol == TCP && e.Port == PortGateway:
		return Verdict{Reason: "policy none has no inference", Rule: "no-inference"}
	default:
		return Verdict{Reason: "the guard has no such port", Rule: "no-port"}
	}
}

func policyNames() []string {
	var names []string
	for _, policy := range Policies() {
		names = append(names, policy.String())
	}
	return names
}
