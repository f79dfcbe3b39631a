package netguard

import (
	"fmt"
	"slices"
	"strings"
)

// SecretRule says which secret the egress proxy adds to the requests to a host, in which
// header. It holds the secret's name, never its value.
type SecretRule struct {
	Name   string  // of the user's environment variable, or of a command in the user's settings
	Host   Pattern // one host, not a wildcard; without a port, ports 443 and 80
	Header string  // such as "Authorization", in the spelling of the user
}

// hopHeaders are headers that frame a request or that the proxy sets itself.
var hopHeaders = []string{"connection", "content-length", "expect", "host", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "via"}

// ParseSecretRule parses NAME=HOST:HEADER or NAME=HOST:PORT:HEADER.
func ParseSecretRule(text string) (SecretRule, error) {
	name, rest, ok := strings.Cut(text, "=")
	colon := strings.LastIndexByte(rest, ':')
	if !ok || colon <= 0 || colon == len(rest)-1 {
		return SecretRule{}, fmt.Errorf("%q is not NAME=HOST:HEADER", clip(name))
	}
	host, header := rest[:colon], rest[colon+1:]
	if !isVariable(name) {
		return SecretRule{}, fmt.Errorf("%q is not the name of a variable", clip(name))
	}
	if !isHeader(header) {
		return SecretRule{}, fmt.Errorf("%q is not the name of a header that can hold a secret", clip(header))
	}
	pattern, err := ParseAllow(host)
	if err != nil {
		return SecretRule{}, err
	}
	if pattern.wild || pattern.port == anyPort {
		return SecretRule{}, fmt.Errorf("%q is not one host: a secret goes to one host and port", clip(host))
	}
	return SecretRule{name, pattern, header}, nil
}

// String returns the rule as ParseSecretRule reads it.
func (r SecretRule) String() string { return r.Name + "=" + r.Host.String() + ":" + r.Header }

func isVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; c != '_' && !('a' <= c|0x20 && c|0x20 <= 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}

func isHeader(name string) bool {
	lower := strings.ToLower(name)
	return name != "" && !strings.HasPrefix(lower, "proxy-") && !slices.Contains(hopHeaders, lower) &&
		!strings.ContainsFunc(lower, func(r rune) bool { return r != '-' && r != '_' && (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}
