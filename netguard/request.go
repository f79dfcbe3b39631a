package netguard

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Request has the parts of an HTTP request that a proxy's decision depends on.
type Request struct {
	Destination Destination
	TLS         bool   // the scheme is https
	Method      string // as sent
	Path        string // as sent, without the query
	Header      map[string][]string
}

// overrides are headers with which a request replaces the method or path in its first line.
// Servers that support them use the headers' values.
var overrides = []string{
	"X-Http-Method", "X-Http-Method-Override", "X-Method-Override",
	"X-Original-Url", "X-Original-Uri", "X-Rewrite-Url", "X-Forwarded-Prefix", "X-Forwarded-Uri", "X-Forwarded-Path",
}

// isOverridden reports whether a header names another method or path. Gateways such as CGI
// do not distinguish - and _ in the name.
func (r Request) isOverridden() bool {
	for name := range r.Header {
		if slices.ContainsFunc(overrides, func(o string) bool { return strings.EqualFold(o, strings.ReplaceAll(name, "_", "-")) }) {
			return true
		}
	}
	return false
}

// DecideRequest returns whether the policy allows a request, and the path to forward: the
// canonical path if an entry with a path decided, or else r.Path unchanged. The entries of
// the allow list that decide about the destination are alternatives: one of them must allow
// the request. A request to a destination that no entry restricts needs only Decide.
func (m *Matcher) DecideRequest(r Request) (Verdict, string) {
	v := m.Decide(r.Destination)
	if !v.Restricted() {
		return v, r.Path
	}
	if r.isOverridden() {
		return Verdict{Reason: RequestOverridden, Rule: v.Rule}, ""
	}
	canonical, err := canonicalPath(r.Path)
	for _, rule := range m.allow.level(r.Destination, Pattern.allowsPort) {
		q := rule.Pattern.requests
		if !rule.Pattern.allowsPort(r.Destination.Port) || !q.allows(r.TLS, r.Method) {
			continue
		}
		switch {
		case q.path == "":
			return Verdict{Allowed: true, Reason: AllowedByRule, Rule: rule}, r.Path
		case err == nil && q.path.matches(canonical):
			return Verdict{Allowed: true, Reason: AllowedByRule, Rule: rule}, canonical
		}
	}
	if err != nil {
		return Verdict{Reason: PathAmbiguous, Rule: v.Rule}, ""
	}
	return Verdict{Reason: RequestNotListed, Rule: v.Rule}, ""
}

// Restricted reports whether v allows only some of the requests to its destination. The
// proxy must then see each request and call DecideRequest: an opaque tunnel would allow all.
func (v Verdict) Restricted() bool { return v.Allowed && v.Rule != nil && v.Rule.Pattern.Restricted() }

// requestRule is the part of a pattern that restricts requests. The zero value restricts
// none.
type requestRule struct {
	scheme  string // "https" or "http"; "" in the zero value
	methods string // joined with "|"; "" is every method
	path    pathGlob
}

// parseRequests parses an entry of an allow list that is a URL, with or without methods
// before it: GET|POST https://HOST[:PORT][/PATH].
func parseRequests(text string) (Pattern, error) {
	var q requestRule
	methods, url, found := strings.Cut(text, " ")
	if !found {
		methods, url = "", text
	}
	if found {
		var err error
		if q.methods, err = parseMethods(methods); err != nil {
			return Pattern{}, err
		}
	}
	var rest string
	q.scheme, rest, _ = strings.Cut(url, "://")
	q.scheme = strings.ToLower(q.scheme)
	usual := map[string]portMatch{"https": portHTTPS, "http": portHTTP}[q.scheme]
	if usual == 0 {
		return Pattern{}, fmt.Errorf("%q does not begin with https:// or http://", clip(url))
	}
	host, path := rest, ""
	if slash := strings.IndexByte(rest, '/'); slash >= 0 {
		var err error
		host = rest[:slash]
		if q.path, err = parsePathGlob(rest[slash:]); err != nil {
			return Pattern{}, fmt.Errorf("the path of %q: %w", clip(url), err)
		}
	} else if strings.ContainsAny(rest, "?#") {
		return Pattern{}, fmt.Errorf("%q has a query or a fragment: an entry has neither", clip(url+path))
	}
	if host == "" {
		return Pattern{}, fmt.Errorf("%q has no host", clip(url))
	}
	p, err := parsePattern(host)
	if err != nil {
		return Pattern{}, err
	}
	if p.port == usualPorts {
		p.port = usual
	}
	if q.methods != "" || q.path != "" {
		p.requests = q
	}
	return p, nil
}

// parseMethods parses methods that are separated by "|".
func parseMethods(text string) (string, error) {
	methods := strings.Split(strings.ToUpper(text), "|")
	for _, method := range methods {
		switch {
		case method == "" || strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") != "":
			return "", fmt.Errorf("%q is not a list of methods: want for example GET|POST", clip(text))
		case method == "CONNECT" || method == "TRACE":
			return "", errors.New("the proxy forwards no " + method + " request")
		}
	}
	slices.Sort(methods)
	return strings.Join(slices.Compact(methods), "|"), nil
}

// allows reports whether the scheme and the method match. GET includes HEAD.
func (q requestRule) allows(tls bool, method string) bool {
	if q == (requestRule{}) {
		return true
	}
	if tls != (q.scheme == "https") {
		return false
	}
	if q.methods == "" {
		return true
	}
	methods := strings.Split(q.methods, "|")
	return slices.Contains(methods, method) || method == "HEAD" && slices.Contains(methods, "GET")
}

// Restricted reports whether p allows only some requests, by method or path.
func (p Pattern) Restricted() bool { return p.requests != requestRule{} }

// narrows reports whether p restricts requests on the other one of the two usual ports. A
// server mostly answers the same on both, so rules that allow every request must not decide
// about either.
func (p Pattern) narrows(port uint16) bool {
	return p.Restricted() && (p.port == portHTTPS && port == portHTTP || p.port == portHTTP && port == portHTTPS)
}

// TLS reports whether p restricts requests inside TLS, which a proxy sees only if it
// inspects the host.
func (p Pattern) TLS() bool { return p.requests.scheme == "https" }

// WholeHost returns the entry without its restriction to some requests.
func (p Pattern) WholeHost() Pattern {
	q := p.requests
	p.requests = requestRule{}
	if p.port == portHTTPS && q.scheme == "https" || p.port == portHTTP && q.scheme == "http" {
		p.port = usualPorts
	}
	return p
}

// maxEntryPath bounds the path of an entry that ForRequest makes, in bytes.
const maxEntryPath = 512

// ForRequest returns an entry that allows a request in addition to the requests that p allows. p
// must restrict requests. The entry has the hosts of p, because an entry for one host would
// override all entries of a wildcard, and its ports unless p has the other usual one. An error reports that no entry can allow only that
// path.
func (p Pattern) ForRequest(r Request) (Pattern, error) {
	path, err := canonicalPath(r.Path)
	switch {
	case err != nil:
		return Pattern{}, err
	case strings.Contains(path, "*") || len(path) > maxEntryPath:
		return Pattern{}, errors.New("the path cannot be an entry")
	}
	if p.narrows(r.Destination.Port) {
		p.port = portMatch(r.Destination.Port)
	}
	p.requests = requestRule{scheme: "http", methods: r.Method, path: pathGlob(path)}
	if r.TLS {
		p.requests.scheme = "https"
	}
	if again, err := ParseAllow(p.String()); err != nil || again != p {
		return Pattern{}, errors.New("the request cannot be an entry")
	}
	return p, nil
}

// requestString returns the canonical form of an entry with restricted requests.
func (p Pattern) requestString() string {
	q, plain := p.requests, p.WholeHost()
	host := plain.String()
	if plain.port == usualPorts && p.host.addr.Is6() {
		host = "[" + host + "]"
	}
	text := q.scheme + "://" + host + string(q.path)
	if q.methods != "" {
		text = q.methods + " " + text
	}
	return text
}
