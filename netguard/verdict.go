package netguard

import "net/netip"

// Verdict is the decision about one destination. The zero value is a refusal.
type Verdict struct {
	Allowed bool
	Reason  Reason
	Rule    *Rule // the entry that decided; nil if none did
}

// AddressVerdict is the decision about one address of a destination.
type AddressVerdict struct {
	Address netip.Addr
	Verdict Verdict
}

// Reason is why a destination is allowed or refused. The zero value is no reason.
type Reason uint8

// The reasons. Those that end in Address are found only once the proxy has resolved the
// host, and apply whatever the lists contain.
const (
	AllowedByRule     Reason = iota + 1 // an entry of the allow list
	AllowedByPolicy                     // the policy is Public, and nothing denies it
	DeniedByRule                        // an entry of the deny list
	NotListed                           // the policy is Allowlist, and no entry names the host
	PortNotListed                       // an entry names the host, but not the port
	OtherOwner                          // only a wildcard names the host, and names below its public suffix have other owners
	PortNotUsual                        // the policy is Public, and the port is neither 443 nor 80
	RequestNotListed                    // the entries for the host allow other methods or paths
	RequestOverridden                   // a header of the request names another method or path
	PathAmbiguous                       // servers read the path in different ways
	NotInspected                        // the entries for the host restrict requests, and the proxy cannot see them
	NoEgress                            // the policy has no proxy
	NoHost                              // the host is not valid
	LoopbackAddress                     // this machine
	PrivateAddress                      // the local network
	LinkLocalAddress                    // the local link
	SharedAddress                       // carrier-grade NAT
	MetadataAddress                     // a cloud provider's metadata service
	MulticastAddress                    // a group of machines
	EmbeddedAddress                     // an IPv4 address inside an IPv6 address
	ReservedAddress                     // not an address of a public machine
	OwnAddress                          // one of this machine's own public addresses, or of the user's other machines
	NeighborAddress                     // in the network of one of this machine's interfaces
)

var reasons = [...]string{
	AllowedByRule:     "an entry of the allow list names it",
	AllowedByPolicy:   "the policy allows every public host",
	DeniedByRule:      "an entry of the deny list names it",
	NotListed:         "no entry of the allow list names this host",
	PortNotListed:     "the allow list has this host, but not this port",
	OtherOwner:        "a wildcard of the allow list does not include names that belong to other owners: list this host by its name",
	PortNotUsual:      "the policy allows ports 443 and 80 only, unless the allow list names the port",
	RequestNotListed:  "the allow list has this host, but not this method and path",
	RequestOverridden: "a header of the request names another method or path",
	PathAmbiguous:     "servers can read the path in different ways",
	NotInspected:      "the allow list restricts the requests to this host, and its TLS is not inspected",
	NoEgress:          "the policy has no way out of the sandbox",
	NoHost:            "it is not a valid host",
	LoopbackAddress:   "it is a loopback address",
	PrivateAddress:    "it is an address of a private network",
	LinkLocalAddress:  "it is a link-local address",
	SharedAddress:     "it is an address of a provider's own network (carrier-grade NAT)",
	MetadataAddress:   "it is the metadata service of a cloud provider",
	MulticastAddress:  "it is a multicast address",
	EmbeddedAddress:   "it is an IPv6 address with an IPv4 address inside",
	ReservedAddress:   "it is not a public address",
	OwnAddress:        "it is an address of this machine, or one that the setting own-addresses names",
	NeighborAddress:   "it is in the network of one of this machine's interfaces",
}

// String returns the reason as a clause that follows a colon, or "" for no reason.
func (r Reason) String() string {
	if int(r) >= len(reasons) {
		return ""
	}
	return reasons[r]
}

// names of the reasons in JSON.
var reasonNames = [...]string{
	AllowedByRule: "allowed-by-rule", AllowedByPolicy: "allowed-by-policy", DeniedByRule: "denied-by-rule",
	NotListed: "not-listed", PortNotListed: "port-not-listed", OtherOwner: "other-owner", PortNotUsual: "port-not-usual",
	RequestNotListed: "request-not-listed", RequestOverridden: "request-overridden", PathAmbiguous: "path-ambiguous",
	NotInspected: "not-inspected", NoEgress: "no-egress",
	NoHost: "no-host", LoopbackAddress: "loopback-address", PrivateAddress: "private-address",
	LinkLocalAddress: "link-local-address", SharedAddress: "shared-address", MetadataAddress: "metadata-address",
	MulticastAddress: "multicast-address", EmbeddedAddress: "embedded-address", ReservedAddress: "reserved-address",
	OwnAddress: "own-address", NeighborAddress: "neighbor-address",
}

// Name returns the reason as a word for logs and JSON, or "" for no reason.
func (r Reason) Name() string {
	if int(r) >= len(reasonNames) {
		return ""
	}
	return reasonNames[r]
}

// Askable reports whether the user can allow what was refused for this reason. Addresses
// that are not public, and what the user has denied, can never be allowed by an answer.
func (r Reason) Askable() bool {
	return r == NotListed || r == PortNotListed || r == OtherOwner || r == PortNotUsual
}
