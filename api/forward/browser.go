package forward

import (
	"net/http"
	"net/url"
	"strings"

	"aibox/internal/fault"
)

// isNavigation reports whether a browser opens a page with a request. Old browsers do not
// send these headers, but accept HTML.
func isNavigation(r *http.Request) bool {
	mode := r.Header.Get("Sec-Fetch-Mode")
	return r.Method == http.MethodGet && r.Header.Get("Upgrade") == "" &&
		(mode == "navigate" || mode == "" && strings.Contains(r.Header.Get("Accept"), "text/html"))
}

// checkBrowser refuses requests by path that only a browser makes for a page. The page
// would share its origin, and so storage, service workers and the API's answers, with the
// API and with every other sandbox.
func (f *Forwarder) checkBrowser(r *http.Request, t target) error {
	if t.byHost() {
		return nil
	}
	destination := r.Header.Get("Sec-Fetch-Dest")
	page := destination != "" && destination != "empty" && destination != "websocket"
	if page || r.Header.Get("Sec-Fetch-Mode") == "navigate" || r.Header.Get("Service-Worker") != "" {
		return fault.New(fault.Refused, "browsers reach a port by its own host name, not by this path").
			Hint("`aibox sandbox open %s %d` prints a URL that a browser can open", t.sandbox, t.port)
	}
	if f.options.Check != nil {
		return f.options.Check(r)
	}
	if r.Header.Get("Origin") != "" {
		return fault.New(fault.Refused, "pages of other origins may not make requests to this server")
	}
	return nil
}

// checkSameOrigin refuses requests with a cookie that were caused by pages of other origins:
// other sites, and other sandboxes, which are the same site on some domains. The user may
// still follow a link to the port.
func checkSameOrigin(r *http.Request, t target) error {
	other := fault.New(fault.Refused, "a page of another origin may not use this port")
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || u.Host != t.host {
			return other
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return nil
	}
	if isNavigation(r) && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return nil
	}
	return other
}
