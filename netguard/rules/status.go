package rules

// Status is what is in place in the bridges' namespace.
type Status struct {
	Alias     bool     `json:"alias"`     // netguard.Address is on lo
	Firewall  Firewall `json:"firewall"`  // lock 1, IPv4
	Firewall6 Firewall `json:"firewall6"` // lock 1, IPv6
	Routing   Routing  `json:"routing"`   // lock 2
	ICMPRate  bool     `json:"icmp_rate"` // the kernel does not hold refusals back; for speed, not for safety
	Up        bool     `json:"up"`        // alias and locks are as they should be
	Drift     []string `json:"drift"`     // what differs from that, one sentence each; empty when Up
}

// Firewall is lock 1 of one address family.
type Firewall struct {
	Tool    string   `json:"tool"`    // the program, such as /usr/sbin/iptables
	Backend string   `json:"backend"` // nf_tables or legacy
	Rules   []string `json:"rules"`   // ours, as iptables -S prints them, with counters
	// Accepted counts the packets that they let through to the guard's ports, Refused
	// those that they rejected, since the chain was last put in place. What lock 2
	// turned away before they were asked, which with both in place is nearly all, is
	// in neither: Sockets.Refuse reports it.
	Accepted uint64 `json:"accepted"`
	Refused  uint64 `json:"refused"`
}

// Routing is lock 2.
type Routing struct {
	Ordered bool     `json:"ordered"` // our rules are asked before the table of local addresses
	Locked  []string `json:"locked"`  // bridges with a lock
	Rules   []string `json:"rules"`   // ours, in words
}
