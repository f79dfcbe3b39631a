package forward

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"aibox/internal/fault"
)

// target is the port that a request is for.
type target struct {
	sandbox string
	port    uint16
	prefix  string // by path: the part of the path that names the port
	host    string // by host name: the canonical host, with the server's port

	path     string // the path for the sandbox: escaped, with its leading slash
	rawQuery string
}

// byHost reports whether a host name names the port.
func (t *target) byHost() bool { return t.host != "" }

const (
	pathStart = "/v1/sandboxes/"
	pathPorts = "/ports/"
)

// target returns the target of a request. mine is false for a request that is not for a
// port. An error means that it is for a port, but invalid.
func (f *Forwarder) target(r *http.Request) (t target, mine bool, err error) {
	t, mine = f.hostTarget(r.Host)
	path := r.URL.EscapedPath()
	if !mine {
		if t, path, mine, err = pathTarget(path); !mine || err != nil {
			return t, mine, err
		}
	}
	t.path, t.rawQuery = path, r.URL.RawQuery
	switch {
	case r.URL.Host != "" || r.URL.Scheme != "":
		return t, true, fault.New(fault.Usage, "this server is not a proxy: a request names a path, not an address")
	case !strings.HasPrefix(path, "/"):
		return t, true, fault.New(fault.Usage, "the path of a request starts with a slash")
	case t.port == 0:
		return t, true, fault.New(fault.Usage, "a port is a number from 1 to 65535")
	default:
		return t, true, nil
	}
}

// hostTarget reads a host name PORT-ID.DOMAIN. Every name that has a number and a dash
// before a domain is a target or an error, since an origin of a sandbox must not reach the
// API.
func (f *Forwarder) hostTarget(host string) (t target, mine bool) {
	name, port, _ := strings.Cut(strings.ToLower(host), ":")
	name = strings.TrimSuffix(name, ".")
	for _, domain := range f.options.Domains {
		label, ok := strings.CutSuffix(name, "."+domain)
		if !ok {
			continue
		}
		number, id, ok := strings.Cut(label, "-")
		if !ok || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		t = target{host: label + "." + domain}
		if isID(id) {
			t.sandbox, t.port = id, parsePort(number)
		}
		if port != "" {
			if parsePort(port) == 0 {
				t.port = 0
			}
			t.host += ":" + port
		}
		return t, true
	}
	return target{}, false
}

// pathTarget reads /v1/sandboxes/ID/ports/PORT/…, and returns the rest of the path.
func pathTarget(path string) (t target, rest string, mine bool, err error) {
	after, ok := strings.CutPrefix(path, pathStart)
	if !ok {
		return t, "", false, nil
	}
	id, after, ok := strings.Cut(after, pathPorts)
	if !ok || strings.Contains(id, "/") {
		return t, "", false, nil
	}
	number, rest, _ := strings.Cut(after, "/")
	if number == "" || strings.Trim(number, "0123456789") != "" {
		return t, "", false, nil // a method of the API, such as 3000:sign
	}
	t = target{prefix: strings.TrimSuffix(path, "/"+rest), port: parsePort(number)}
	if isID(id) {
		t.sandbox = id
	} else {
		t.port = 0
	}
	if hasDotSegment(rest) {
		return t, "", true, fault.New(fault.Usage, "a path must not leave the port with ..")
	}
	return t, "/" + rest, true, nil
}

// hasDotSegment reports whether a path has the segment "..", with which a client or a proxy
// could leave the prefix.
func hasDotSegment(escaped string) bool {
	for segment := range strings.SplitSeq(escaped, "/") {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return true
		}
		for part := range strings.FieldsFuncSeq(decoded, func(r rune) bool { return r == '/' || r == '\\' }) {
			if part == ".." {
				return true
			}
		}
	}
	return false
}

// parsePort returns a port; 0 for anything else.
func parsePort(text string) uint16 {
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || strings.HasPrefix(text, "0") {
		return 0
	}
	return uint16(number)
}

// isID reports whether text can be the id of a sandbox.
func isID(text string) bool {
	return text != "" && len(text) <= 63 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == "" &&
		text[0] != '-' && text[len(text)-1] != '-'
}

// Host returns the host name of a port below a domain.
func Host(domain, sandbox string, port uint16) string {
	return strconv.Itoa(int(port)) + "-" + sandbox + "." + domain
}
