package netguard

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// Host is a DNS name or an IP address in canonical form: a name has only lower-case letters,
// digits, hyphens and underscores in its labels, non-ASCII labels as Punycode and no dot at
// the end; an address has the form of netip. Two spellings of one host are equal. The zero
// value is no host, which no policy allows.
type Host struct {
	name   string     // set for a name
	suffix uint8      // the length of name's public suffix
	addr   netip.Addr // set for an address
}

// Limits of a DNS name (RFC 1035, section 2.3.4).
const (
	maxName  = 253
	maxLabel = 63
)

// hostProfile maps names as browsers do (UTS 46), so that a policy and a client mean the
// same host.
var hostProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))

// ParseHost returns the canonical form of a host: a DNS name or an IP address, with or
// without brackets around an IPv6 address. A name that other programs could read as an
// address, such as "0x7f.1" or "2130706433", is an error, and so is an address with a zone.
func ParseHost(text string) (Host, error) {
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		addr, err := netip.ParseAddr(inner)
		if !ok || err != nil || !addr.Is6() {
			return Host{}, fmt.Errorf("%q is not an IPv6 address in brackets", clip(text))
		}
		return addressHost(addr)
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return addressHost(addr)
	}
	name, err := canonicalName(text)
	if err != nil {
		return Host{}, fmt.Errorf("%q is not a host name: %w", clip(text), err)
	}
	// The mapping can yield an address, for example from full-width digits.
	if looksNumeric(name) {
		return Host{}, fmt.Errorf("%q is not a host name: programs read it as an address in different ways", clip(text))
	}
	return nameHost(name), nil
}

// nameHost returns the host of a canonical name. It looks up the public suffix, private ones
// included, because that would allocate in Decide.
func nameHost(name string) Host {
	suffix, _ := publicsuffix.PublicSuffix(name)
	return Host{name: name, suffix: uint8(len(suffix))} // at most maxName
}

// ownedBelow reports whether the owner of domain, which h is below, answers for h. Names
// below a public suffix have other owners: anyone can get one below s3.amazonaws.com.
func (h Host) ownedBelow(domain string) bool { return int(h.suffix) <= len(domain) }

func addressHost(addr netip.Addr) (Host, error) {
	if addr.Zone() != "" {
		return Host{}, fmt.Errorf("the address %s has a zone", clip(addr.String()))
	}
	return Host{addr: addr}, nil
}

// canonicalName returns a name in lower-case ASCII without a final dot.
func canonicalName(text string) (string, error) {
	text = strings.TrimSuffix(text, ".")
	if len(text) > 4*maxName { // no mapping shortens a name that much
		return "", errors.New("it is too long")
	}
	name := text
	if !isCanonical(text) {
		var err error
		if name, err = hostProfile.ToASCII(text); err != nil {
			return "", errors.New("it does not follow the rules for international names")
		}
		name = strings.ToLower(name)
	}
	switch {
	case name == "":
		return "", errors.New("it is empty")
	case len(name) > maxName:
		return "", errors.New("it is too long")
	}
	for label := range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return "", errors.New("it has an empty label")
		case len(label) > maxLabel:
			return "", fmt.Errorf("it has a label with more than %d characters", maxLabel)
		case label[0] == '-' || label[len(label)-1] == '-':
			return "", errors.New("it has a label that begins or ends with a hyphen")
		}
		for i := range len(label) {
			if !isNameByte(label[i]) {
				return "", errors.New("it has a character that no name has")
			}
		}
	}
	return name, nil
}

// isCanonical reports whether the mapping of international names cannot change text.
func isCanonical(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isNameByte(c) && c != '.' {
			return false
		}
	}
	return !strings.Contains(text, "xn--")
}

func isNameByte(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-' || c == '_'
}

// looksNumeric reports whether the last label is a number, including an octal or
// hexadecimal one. URL parsers treat such a host as an IPv4 address
// (https://url.spec.whatwg.org, "ends in a number"); no real top-level domain is a number.
func looksNumeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		_, err := strconv.ParseUint(hex, 16, 64)
		return hex == "" || err == nil || errors.Is(err, strconv.ErrRange)
	}
	return strings.Trim(last, "0123456789") == ""
}

// IsZero reports whether h is no host.
func (h Host) IsZero() bool { return h == Host{} }

// Address returns the IP address, or false if h is a name.
func (h Host) Address() (netip.Addr, bool) { return h.addr, h.addr.IsValid() }

// Name returns the DNS name, or "" if h is an address.
func (h Host) Name() string { return h.name }

// String returns the canonical form, without brackets.
func (h Host) String() string {
	if h.addr.IsValid() {
		return h.addr.String()
	}
	return h.name
}

// Destination is a host and a TCP port.
type Destination struct {
	Host Host
	Port uint16 // never 0
}

// ParseDestination parses HOST:PORT; see ParseHost. The port has no sign, no space and no
// leading zero.
func ParseDestination(text string) (Destination, error) {
	host, port, err := splitPort(text)
	if err != nil {
		return Destination{}, err
	}
	if port == "" {
		return Destination{}, fmt.Errorf("%q has no port", clip(text))
	}
	d := Destination{}
	if d.Port, err = parsePort(port); err != nil {
		return Destination{}, err
	}
	d.Host, err = ParseHost(host)
	return d, err
}

// String returns HOST:PORT, with brackets around an IPv6 address.
func (d Destination) String() string {
	host := d.Host.String()
	if d.Host.addr.Is6() {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(d.Port))
}

// splitPort splits HOST:PORT. port is "" if there is none; an IPv6 address needs brackets to
// have one.
func splitPort(text string) (host, port string, err error) {
	if strings.HasPrefix(text, "[") {
		end := strings.IndexByte(text, ']')
		if end < 0 {
			return "", "", fmt.Errorf("%q has no closing bracket", clip(text))
		}
		host, text = text[:end+1], text[end+1:]
		if text == "" {
			return host, "", nil
		}
		if text[0] != ':' || len(text) == 1 {
			return "", "", fmt.Errorf("after ] comes a colon and a port, not %q", clip(text))
		}
		return host, text[1:], nil
	}
	if strings.Count(text, ":") > 1 {
		return text, "", nil // an IPv6 address
	}
	host, port, found := strings.Cut(text, ":")
	if found && port == "" {
		return "", "", fmt.Errorf("%q has no port after the colon", clip(text))
	}
	return host, port, nil
}

func parsePort(text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 || text[0] == '0' || text[0] == '+' {
		return 0, fmt.Errorf("%q is not a port from 1 to 65535", clip(text))
	}
	return uint16(port), nil
}

// clip shortens text that comes from outside for an error message.
func clip(text string) string {
	const limit = 80
	if len(text) <= limit {
		return text
	}
	return text[:limit] + "…"
}
