package server

import (
	"net"
	"net/http"
	"slices"
	"strings"
)

var (
	errHost   = &failed{failRefused, "the Host header names another server", []string{"use the address that the server listens on", "`aibox serve --host NAME` permits a name"}}
	errOrigin = &failed{failRefused, "a web page of another origin cannot call the API", nil}
)

// loopbackHosts are the host names of a server on loopback.
var loopbackHosts = []string{"localhost", "127.0.0.1", "::1"}

// checkOrigin refuses requests that a web page caused. A page that rebinds its own name to
// this server sends that name as Host; any other page sends an Origin.
func (s *Server) checkOrigin(route *Route, r *http.Request) error {
	switch {
	case route.Host != nil:
		if !route.Host(r.Host) {
			return errHost
		}
	case !isLocal(r.Context()) && !isWithinProcess(r.Context()):
		hosts := s.options.Hosts
		if hosts == nil {
			hosts = loopbackHosts
		}
		if !slices.Contains(hosts, hostName(r.Host)) {
			return errHost
		}
	}
	if route.Browser != nil && route.Browser(r) {
		return nil
	}
	if len(r.Header.Values("Origin")) > 0 {
		return errOrigin
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "none" {
			return errOrigin
		}
	}
	return nil
}

// hostName returns the name or address of a Host header, without the port, in lower case.
// For anything else it returns "", which is no server's name.
func hostName(host string) string {
	name, port, err := net.SplitHostPort(host)
	switch {
	case err == nil && (port == "" || strings.Trim(port, "0123456789") != ""):
		return ""
	case err != nil && strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]"):
		name = host[1 : len(host)-1]
	case err != nil && strings.Contains(host, ":"):
		return ""
	case err != nil:
		name = host
	}
	return strings.ToLower(name)
}
