package e2b

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/lazyregexp"
)

// defaultDomain is the domain of the hosts of sandboxes on this machine.
const defaultDomain = "localhost"

// trafficHeader has the token for the ports of a sandbox, and portsHeader the caller's token
// for the forwarding of ports.
const (
	trafficHeader = "E2b-Traffic-Access-Token"
	portsHeader   = "Aibox-Token"
)

// Wrap returns a handler that leaves requests to the host for the inside of a sandbox to
// inside, and replaces the packages' token for ports by the caller's own, for next. It leaves
// all others to next, without that token: no program in a sandbox gets it.
func (s *Server) Wrap(inside, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id, port, ok := s.parseHost(r.Host)
		given := r.Header.Values(trafficHeader)
		switch {
		case ok && port == insidePort:
			inside.ServeHTTP(w, r)
		case ok && len(given) > 0:
			own, err := s.tokens.open(forPorts, id, given[0])
			if err != nil {
				err := &apiError{http.StatusForbidden, "the token in the header " + trafficHeader + " is not valid for this sandbox"}
				s.refused(r, fmt.Sprintf("%s port %d", r.Method, port), id, err)
				writeError(w, err)
				return
			}
			sent := withoutTraffic(r)
			sent.Header.Set(portsHeader, own)
			next.ServeHTTP(w, sent)
		case len(given) > 0:
			next.ServeHTTP(w, withoutTraffic(r))
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// withoutTraffic returns a request without the packages' token for ports.
func withoutTraffic(r *http.Request) *http.Request {
	sent := r.Clone(r.Context())
	sent.Header.Del(trafficHeader)
	return sent
}

// domainOf returns the domain of the sandboxes' hosts for the caller of a request, with the
// port at which it reaches the server.
func (s *Server) domainOf(r *http.Request) string {
	name, port := strings.ToLower(r.Host), ""
	if host, number, err := net.SplitHostPort(name); err == nil { // otherwise it has no port
		name, port = host, number
	}
	if address, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil && address.IsLoopback() {
		name = defaultDomain // the caller may know no other name of this machine
	}
	if s.ownDomain || !slices.Contains(s.domains, name) {
		name = s.domains[0]
	}
	if port == "" {
		return name
	}
	return name + ":" + port
}

// parseHost returns the sandbox and the port that a host names.
func (s *Server) parseHost(host string) (id string, port int, ok bool) {
	name, _, _ := strings.Cut(strings.ToLower(host), ":")
	name = strings.TrimSuffix(name, ".") // as the forwarding of ports reads it
	for _, domain := range s.domains {
		if id, port, ok = parseName(name, domain); ok {
			return id, port, true
		}
	}
	return "", 0, false
}

// parseName reads PORT-SANDBOX.DOMAIN.
func parseName(name, domain string) (id string, port int, ok bool) {
	first, rest, found := strings.Cut(name, ".")
	if !found || rest != domain {
		return "", 0, false
	}
	digits, id, found := strings.Cut(first, "-")
	number, err := strconv.ParseUint(digits, 10, 16)
	if !found || err != nil || number == 0 || digits[0] == '0' || !isLabel(id) {
		return "", 0, false
	}
	return id, int(number), true
}

var label = lazyregexp.New(`^[a-z0-9]([a-z0-9-]{0,55}[a-z0-9])?$`)

// isLabel reports whether text, a part of a host name, can be the id of a sandbox.
func isLabel(text string) bool { return label.MatchString(text) }
