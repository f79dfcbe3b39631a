package netguard

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Pattern matches destinations: a host, or all names below a domain, with one port, any
// port, or the usual ports. The zero value matches nothing.
type Pattern struct {
	host Host // the host itself, or the domain of a wildcard
	wild bool // every name below host, not host itself
	all  bool // every host; only in a deny list
	port portMatch

	requests requestRule // only in an allow list
}

// portMatch defines the ports that a pattern matches: one, or one of the two below.
type portMatch int32

const (
	usualPorts portMatch = 0 // HTTPS and HTTP where a pattern allows, every port where it denies
	anyPort    portMatch = -1
)

// The ports that a pattern without a port allows.
const (
	portHTTPS = 443
	portHTTP  = 80
)

// ParseAllow parses an entry of an allow list: HOST, HOST:PORT or HOST:*, where HOST is a
// name, an IP address or *.DOMAIN. A wildcard matches one or more labels below DOMAIN, never
// DOMAIN itself, and no name that belongs to another owner: *.amazonaws.com does not match
// bucket.s3.amazonaws.com, because the public suffix s3.amazonaws.com is below it. Without
// a port, it allows ports 443 and 80. An entry that would allow names of many owners ("*",
// "*.com", "*.github.io") is an error, as is an address that no policy ever allows.
//
// An entry can also be a URL with methods before it, a path, or both; it then allows only
// such requests:
//
//	GET|POST https://api.example.org/repos/**
//	https://*.example.org:8443/v1/*/status
//
// In a path, * matches one or more characters between two slashes, and ** any number of
// segments. GET includes HEAD. The query is ignored.
func ParseAllow(text string) (Pattern, error) {
	parse := parsePattern
	if strings.Contains(text, "://") {
		parse = parseRequests
	}
	p, err := parse(text)
	if err != nil {
		return Pattern{}, err
	}
	if p.all {
		return Pattern{}, errors.New(`"*" allows every host: choose the network policy "public" instead`)
	}
	if addr, ok := p.host.Address(); ok {
		if reason := CheckAddress(addr); reason != 0 {
			return Pattern{}, fmt.Errorf("%s can never be allowed: %s", addr, reason)
		}
		return p, nil
	}
	if p.wild && !nameHost("any."+p.host.name).ownedBelow(p.host.name) {
		return Pattern{}, fmt.Errorf("%q would allow the names of many owners: list the hosts by their names", clip(text))
	}
	suffix, icann := publicsuffix.PublicSuffix(p.host.name)
	if suffix != p.host.name {
		return p, nil
	}
	if p.wild {
		return Pattern{}, fmt.Errorf("%q would allow the names of many owners: name a domain below %s", clip(text), p.host)
	}
	if icann {
		return Pattern{}, fmt.Errorf("%q is a public suffix, not a host", clip(text))
	}
	return p, nil
}

// ParseDeny parses an entry of a deny list. It has the form of an entry of an allow list.
// Without a port it denies every port; "*" denies every host, and a wildcard can be as wide
// as *.com. It denies every name below its domain.
func ParseDeny(text string) (Pattern, error) { return parsePattern(text) }

func parsePattern(text string) (Pattern, error) {
	host, port, err := splitPort(text)
	if err != nil {
		return Pattern{}, err
	}
	var p Pattern
	switch port {
	case "":
	case "*":
		p.port = anyPort
	default:
		number, err := parsePort(port)
		if err != nil {
			return Pattern{}, err
		}
		p.port = portMatch(number)
	}
	if host == "*" {
		p.all = true
		return p, nil
	}
	domain, wild := strings.CutPrefix(host, "*.")
	p.wild = wild
	switch {
	case strings.Contains(domain, "*"):
		return Pattern{}, fmt.Errorf("%q has a * in the wrong place: it can only stand for the labels before a domain, as in *.example.org", clip(text))
	case strings.Contains(domain, "/"):
		return Pattern{}, fmt.Errorf("%q is not a host: leave out the scheme and the path", clip(text))
	}
	if p.host, err = ParseHost(domain); err != nil {
		return Pattern{}, err
	}
	if _, ok := p.host.Address(); ok && wild {
		return Pattern{}, fmt.Errorf("%q: an address has no names below it", clip(text))
	}
	return p, nil
}

// String returns the canonical form of the entry.
func (p Pattern) String() string {
	var text string
	switch {
	case p.Restricted():
		return p.requestString()
	case p.all:
		text = "*"
	case p.host.IsZero():
		return ""
	case p.wild:
		text = "*." + p.host.String()
	default:
		text = p.host.String()
		if p.port != usualPorts && p.host.addr.Is6() {
			text = "[" + text + "]"
		}
	}
	switch p.port {
	case usualPorts:
		return text
	case anyPort:
		return text + ":*"
	default:
		return fmt.Sprintf("%s:%d", text, p.port)
	}
}

// allowsPort reports whether an entry of an allow list includes port.
func (p Pattern) allowsPort(port uint16) bool {
	switch p.port {
	case usualPorts:
		return port == portHTTPS || port == portHTTP
	case anyPort:
		return true
	default:
		return p.port == portMatch(port)
	}
}

// deniesPort reports whether an entry of a deny list includes port.
func (p Pattern) deniesPort(port uint16) bool {
	return p.port == usualPorts || p.port == anyPort || p.port == portMatch(port)
}
