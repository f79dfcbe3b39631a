package rules

// Status describes the guard in the bridges' namespace.
type Status struct {
	Alias     bool     `json:"alias"`     // netguard.Address is on lo
	Firewall  Firewall `json:"firewall"`  // lock 1, IPv4
	Firewall6 Firewall `json:"firewall6"` // lock 1, IPv6
	Routing   Routing  `json:"routing"`   // lock 2
	ICMPRate  bool     `json:"icmp_rate"` // the kernel does not limit ICMP errors; only for speed, not for safety
	Up        bool     `json:"up"`        // alias and locks are in place
	Drift     []string `json:"drift"`     // the differences, one sentence each; empty if Up
}

// Firewall is lock 1 of one address family.
type Firewall struct {
	Tool    string   `json:"tool"`    // the program, such as /usr/sbin/iptables
	Backend string   `json:"backend"` // nf_tables or legacy
	Rules   []string `json:"rules"`   // ours, as iptables -S prints them, with counters
	// Accepted counts the packets to the guard's ports that the rules accepted, Refused
	// those that they rejected, since the chain was last loaded. Neither includes the
	// packets that lock 2 has rejected already, which are nearly all; Sockets.Refuse
	// reports these.
	Accepted uint64 `json:"accepted"`
	Refused  uint64 `json:"refused"`
}

// Routing is lock 2.
type Routing struct {
	Ordered bool     `json:"ordered"` // our rules come before the lookup of local addresses
	Locked  []string `json:"locked"`  // bridges with a lock
	Rules   []string `json:"rules"`   // ours, much like ip rule prints them
}
