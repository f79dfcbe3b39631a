package egress

import (
	"net/http"
	"strings"

	"aibox/netguard"
)

// parseTarget returns the destination that a request to the proxy names. tunnel is the
// destination of the tunnel that the request came through, or the zero value.
//
//   - CONNECT names HOST:PORT, and never inside a tunnel.
//   - Any other method names an http URL, inside a tunnel also a path. The Host field and
//     the tunnel must name the same destination.
func parseTarget(h head, tunnel netguard.Destination, https bool) (netguard.Destination, *refusal) {
	if h.method == http.MethodConnect {
		return connectTarget(h, tunnel)
	}
	inside := tunnel != netguard.Destination{}
	var d netguard.Destination
	switch {
	case strings.HasPrefix(h.target, "/"):
		if !inside {
			return d, malformed("origin-form", "this is a proxy: it takes CONNECT HOST:PORT, or a whole URL as the target").withHint("a program that sends this has been given the proxy's address as a server's")
		}
		d = tunnel
	case hasScheme(h.target, "http://") && !https:
		authority := h.target[len("http://"):]
		if end := strings.IndexAny(authority, "/?#"); end >= 0 {
			authority = authority[:end]
		}
		var problem *refusal
		if d, problem = parseAuthority(authority, portHTTP); problem != nil {
			return d, problem
		}
	case hasScheme(h.target, "https://"):
		return d, malformed("https-url", "for https URLs the proxy takes CONNECT HOST:PORT")
	default:
		return d, malformed("bad-target", "the target of the request is not an http URL")
	}
	if strings.Contains(h.target, "#") {
		return d, malformed("fragment", "the target of the request has a fragment")
	}
	if inside && d != tunnel {
		return d, wrongTunnel(d, tunnel, https)
	}
	usual := uint16(portHTTP)
	if https {
		usual = portHTTPS
	}
	if h.hasHost {
		host, problem := parseAuthority(h.host, usual)
		if problem != nil {
			return d, problem
		}
		if inside && host != d {
			return d, wrongTunnel(host, tunnel, https)
		}
		if host != d {
			return d, forbid("wrong-host", "the Host field is for %s, but the request is for %s", host, d)
		}
	}
	return d, nil
}

// wrongTunnel returns the refusal of a request for another host than the tunnel's. Inside
// TLS, the status makes a client that reuses connections open another one (RFC 9110, section
// 15.5.20).
func wrongTunnel(d, tunnel netguard.Destination, https bool) *refusal {
	problem := forbid("wrong-host", "the request is for %s, but the tunnel is for %s", d, tunnel)
	if https {
		problem.status = http.StatusMisdirectedRequest
	}
	return problem
}

// The ports that URLs leave out.
const (
	portHTTP  = 80
	portHTTPS = 443
	portSSH   = 22
)

func connectTarget(h head, tunnel netguard.Destination) (netguard.Destination, *refusal) {
	if tunnel != (netguard.Destination{}) {
		return netguard.Destination{}, forbid("nested-connect", "a CONNECT request inside a tunnel")
	}
	d, err := netguard.ParseDestination(h.target)
	if err != nil {
		return d, malformed("bad-target", "CONNECT takes HOST:PORT: %v", err)
	}
	if h.hasHost {
		host, problem := parseAuthority(h.host, d.Port) // some programs omit the port even if it is not the usual one
		if problem != nil {
			return d, problem
		}
		if host.Host != d.Host { // some programs name the usual port even if CONNECT names another
			return d, forbid("wrong-host", "the Host field is for %s, but CONNECT is for %s", host, d)
		}
	}
	return d, nil
}

// parseAuthority parses HOST or HOST:PORT as a URL has it.
func parseAuthority(text string, port uint16) (netguard.Destination, *refusal) {
	if strings.Contains(text, "@") {
		return netguard.Destination{}, malformed("userinfo", "the URL or the Host field has a user name")
	}
	if d, err := netguard.ParseDestination(text); err == nil {
		return d, nil
	} else if end := strings.LastIndexByte(text, ':'); end >= 0 && !strings.HasSuffix(text, "]") {
		return netguard.Destination{}, malformed("bad-host", "%v", err)
	}
	host, err := netguard.ParseHost(text)
	if err != nil {
		return netguard.Destination{}, malformed("bad-host", "%v", err)
	}
	return netguard.Destination{Host: host, Port: port}, nil
}

func hasScheme(target, scheme string) bool {
	return len(target) >= len(scheme) && strings.EqualFold(target[:len(scheme)], scheme)
}
