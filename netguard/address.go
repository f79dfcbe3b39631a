package netguard

import (
	"fmt"
	"net/netip"
)

// addressRange is a range of addresses that the egress proxy never connects to.
type addressRange struct {
	prefix netip.Prefix
	reason Reason
}

// forbidden are the special ranges of the IANA registries for special-purpose addresses
// (RFC 6890 and its updates) and the metadata services of cloud providers. The first match
// counts. IPv6 addresses outside 2000::/3 are forbidden as well; see CheckAddress.
var forbidden = []addressRange{
	{netip.MustParsePrefix("169.254.169.254/32"), MetadataAddress}, // most providers
	{netip.MustParsePrefix("169.254.170.2/32"), MetadataAddress},   // AWS, credentials of containers
	{netip.MustParsePrefix("100.100.100.200/32"), MetadataAddress}, // Alibaba Cloud
	{netip.MustParsePrefix("168.63.129.16/32"), MetadataAddress},   // Azure
	{netip.MustParsePrefix("192.0.0.192/32"), MetadataAddress},     // Oracle Cloud
	{netip.MustParsePrefix("fd00:ec2::/32"), MetadataAddress},      // AWS
	{netip.MustParsePrefix("fd20:ce::254/128"), MetadataAddress},   // Google Cloud

	{netip.MustParsePrefix("127.0.0.0/8"), LoopbackAddress},
	{netip.MustParsePrefix("::1/128"), LoopbackAddress},
	{netip.MustParsePrefix("0.0.0.0/8"), ReservedAddress}, // Linux connects 0.0.0.0 to itself
	{netip.MustParsePrefix("10.0.0.0/8"), PrivateAddress},
	{netip.MustParsePrefix("172.16.0.0/12"), PrivateAddress},
	{netip.MustParsePrefix("192.168.0.0/16"), PrivateAddress},
	{netip.MustParsePrefix("fc00::/7"), PrivateAddress},
	{netip.MustParsePrefix("fec0::/10"), PrivateAddress}, // site-local, deprecated by RFC 3879
	{netip.MustParsePrefix("100.64.0.0/10"), SharedAddress},
	{netip.MustParsePrefix("169.254.0.0/16"), LinkLocalAddress},
	{netip.MustParsePrefix("fe80::/10"), LinkLocalAddress},
	{netip.MustParsePrefix("224.0.0.0/4"), MulticastAddress},
	{netip.MustParsePrefix("ff00::/8"), MulticastAddress},
	{netip.MustParsePrefix("192.0.0.0/24"), ReservedAddress},
	{netip.MustParsePrefix("192.0.2.0/24"), ReservedAddress},    // documentation
	{netip.MustParsePrefix("198.51.100.0/24"), ReservedAddress}, // documentation
	{netip.MustParsePrefix("203.0.113.0/24"), ReservedAddress},  // documentation
	{netip.MustParsePrefix("192.88.99.0/24"), EmbeddedAddress},  // relays of 6to4
	{netip.MustParsePrefix("198.18.0.0/15"), ReservedAddress},   // benchmarks
	{netip.MustParsePrefix("240.0.0.0/4"), ReservedAddress},
	{netip.MustParsePrefix("::ffff:0:0/96"), EmbeddedAddress},  // IPv4-mapped
	{netip.MustParsePrefix("::/96"), EmbeddedAddress},          // IPv4-compatible, and ::
	{netip.MustParsePrefix("64:ff9b::/96"), EmbeddedAddress},   // NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), EmbeddedAddress}, // NAT64 of one network
	{netip.MustParsePrefix("2002::/16"), EmbeddedAddress},      // 6to4
	{netip.MustParsePrefix("2001::/32"), EmbeddedAddress},      // Teredo
	{netip.MustParsePrefix("2001::/23"), ReservedAddress},      // protocol assignments
	{netip.MustParsePrefix("2001:db8::/32"), ReservedAddress},  // documentation
	{netip.MustParsePrefix("3fff::/20"), ReservedAddress},      // documentation
}

var globalUnicast = netip.MustParsePrefix("2000::/3")

// CheckAddress returns why no policy lets a sandbox reach addr, or 0 if addr is a public
// address. It does not know the addresses of the machine it runs on: the dialer adds those.
func CheckAddress(addr netip.Addr) Reason {
	if !addr.IsValid() || addr.Zone() != "" {
		return ReservedAddress
	}
	for _, special := range forbidden {
		if special.prefix.Contains(addr) {
			return special.reason
		}
	}
	if addr.Is4() || globalUnicast.Contains(addr) {
		return 0
	}
	return ReservedAddress
}

// ParseOwnAddress parses an address or a prefix, such as 8.8.8.8 or 2001:4860::/32, of the
// user's own machines.
func ParseOwnAddress(text string) (netip.Prefix, error) {
	addr, err := netip.ParseAddr(text)
	prefix := netip.PrefixFrom(addr, addr.BitLen())
	if err != nil {
		prefix, err = netip.ParsePrefix(text)
	}
	if err != nil || addr.Zone() != "" || prefix.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%q is neither an IP address nor a prefix such as 8.8.8.0/24", clip(text))
	}
	return prefix.Masked(), nil
}
