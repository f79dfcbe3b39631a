package forward

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// dropped are headers of answers with an effect beyond the sandbox's own origin: on
// subdomains, on other ports of the name, on the cookies of aibox, or on the browser's
// connections.
var dropped = []string{"Alt-Svc", "Clear-Site-Data", "Nel", "Public-Key-Pins", "Report-To", "Strict-Transport-Security"}

// ofProxies are the beginnings of the names of headers with which a program tells a reverse proxy in
// front of the server to answer in its place, with a file or another address of the proxy.
var ofProxies = []string{"X-Accel-", "X-Lighttpd-", "X-Litespeed-", "X-Sendfile"}

// dropForProxies drops the headers for a reverse proxy. X-Accel-Buffering stays: streams of events
// need it, and it has no other effect.
func dropForProxies(header http.Header) {
	for name := range header {
		if name != "X-Accel-Buffering" && slices.ContainsFunc(ofProxies, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			delete(header, name)
		}
	}
}

// droppedByPath are headers of answers with an effect on the API's origin.
var droppedByPath = []string{
	"Access-Control-Allow-Credentials", "Access-Control-Allow-Headers", "Access-Control-Allow-Methods", "Access-Control-Allow-Origin",
	"Access-Control-Expose-Headers", "Access-Control-Max-Age", "Link", "Origin-Trial", "Refresh", "Reporting-Endpoints",
	"Service-Worker-Allowed", "Set-Cookie", "Speculation-Rules",
}

// errRedirect reports an answer that redirects a program and its token elsewhere.
var errRedirect = errors.New("the program in the sandbox redirects to another host")

// modify changes the sandbox's answer.
func modify(response *http.Response) error {
	h, header := hopOf(response.Request), response.Header
	if h.body != nil && response.StatusCode != http.StatusSwitchingProtocols {
		h.body.limit()
	}
	for _, name := range dropped {
		header.Del(name)
	}
	dropForProxies(header)
	if h.target.byHost() {
		keepCookies(header)
		header.Set("Origin-Agent-Cluster", "?1") // document.domain cannot merge origins
	} else {
		for _, name := range droppedByPath {
			header.Del(name)
		}
		// If a browser shows it nevertheless, it has no origin, and so no storage and no
		// access to the API.
		header.Add("Content-Security-Policy", "sandbox")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
	}
	return h.redirect(header)
}

// redirect keeps a program that has sent a token at its port. A browser's cookie stays with
// its host, so it may go anywhere.
func (h *hop) redirect(header http.Header) error {
	location := header.Get("Location")
	if location == "" || !h.caller.header && h.target.byHost() {
		return nil
	}
	to, err := url.Parse(location)
	switch {
	case err != nil || strings.ContainsAny(location, "\\\t\r\n") || hasDotSegment(to.EscapedPath()):
		return errRedirect
	case to.Host != "" && !h.isOwnHost(to) || to.Host == "" && to.Scheme != "":
		return errRedirect
	}
	to.Scheme, to.Host, to.User = "", "", nil
	path := to.EscapedPath()
	if strings.HasPrefix(path, "//") {
		return errRedirect
	}
	switch {
	case strings.HasPrefix(path, "/"):
		path = h.target.prefix + path
	case path != "" && !h.target.byHost():
		// It is relative to the path that the sandbox knows. The client's ends in the number of the
		// port if it has no slash after that.
		path = h.target.prefix + h.target.path[:strings.LastIndex(h.target.path, "/")+1] + path
	}
	to.Path, to.RawPath = "", ""
	header.Set("Location", path+to.String())
	return nil
}

// isOwnHost reports whether an address is that of the port, as the sandbox knows it.
func (h *hop) isOwnHost(to *url.URL) bool {
	if to.Scheme != "" && to.Scheme != "http" && to.Scheme != "https" {
		return false
	}
	port := strconv.Itoa(int(h.target.port))
	return to.Host == "localhost:"+port || to.Host == "127.0.0.1:"+port || h.target.byHost() && to.Host == h.target.host
}

// keepCookies restricts the cookies of an answer to its origin. It drops those with aibox's
// names, and the attribute that would send a cookie to other sandboxes.
func keepCookies(header http.Header) {
	lines := header["Set-Cookie"]
	header.Del("Set-Cookie")
	for _, line := range lines {
		parts := strings.Split(line, ";")
		name, _, named := strings.Cut(parts[0], "=")
		if isOwnCookie(name) || !named || strings.TrimSpace(name) == "" || strings.ContainsAny(line, "\x00\r\n") {
			continue // a browser takes the value of a nameless cookie for a name
		}
		kept := parts[:1]
		for _, attribute := range parts[1:] {
			key, _, _ := strings.Cut(attribute, "=")
			if !strings.EqualFold(strings.TrimSpace(key), "domain") {
				kept = append(kept, attribute)
			}
		}
		header.Add("Set-Cookie", strings.Join(kept, ";"))
	}
}
