package forward

import (
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
)

// rewrite builds the request for the sandbox. httputil removes the hop-by-hop headers,
// Forwarded and X-Forwarded-….
func rewrite(p *httputil.ProxyRequest) {
	h := hopOf(p.In)
	t, out := h.target, p.Out
	rest, err := url.PathUnescape(t.path)
	if err != nil {
		rest = t.path
	}
	// The path reaches the sandbox byte for byte.
	out.URL = &url.URL{Scheme: "http", Host: h.address(), Path: rest, RawPath: t.path, RawQuery: withoutGrant(t.rawQuery)}
	out.Host = "localhost:" + strconv.Itoa(int(t.port))
	if t.byHost() {
		out.Host = t.host
		out.Header.Set("X-Forwarded-Host", t.host)
		out.Header.Set("X-Forwarded-Proto", schemeOf(p.In))
	} else {
		out.Header.Set("X-Forwarded-Prefix", t.prefix)
		for _, name := range []string{"Cookie", "Origin", "Referer"} {
			out.Header.Del(name) // they are about the API's origin
		}
	}
	removeCredentials(out.Header)
}

func schemeOf(r *http.Request) string {
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// removeCredentials removes everything by which aibox knows a caller.
func removeCredentials(h http.Header) {
	h.Del(tokenHeader)
	for name, values := range h {
		for _, value := range values {
			if tokenForm.MatchString(value) {
				delete(h, name)
			}
		}
	}
	cookies := h["Cookie"]
	h.Del("Cookie")
	var kept []string
	for _, line := range cookies {
		for part := range strings.SplitSeq(line, ";") {
			name, _, _ := strings.Cut(part, "=")
			if part = strings.TrimSpace(part); part != "" && !isOwnCookie(name) {
				kept = append(kept, part)
			}
		}
	}
	if len(kept) > 0 {
		h.Set("Cookie", strings.Join(kept, "; "))
	}
}

// isOwnCookie reports whether a cookie is aibox's.
func isOwnCookie(name string) bool {
	name = strings.TrimSpace(name)
	return strings.EqualFold(name, cookieName) || strings.EqualFold(name, secureCookieName)
}
