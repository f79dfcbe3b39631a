package modelserver

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"aibox/netguard/gateway/schema"
)

// Transport reaches the server. The user's own proxy settings count, since this
// is the user's side.
func (u Server) Transport() (http.RoundTripper, error) {
	if u.Kind == Scripted {
		if u.Handler == nil {
			return nil, errors.New("gateway: the scripted upstream has no handler")
		}
		return inProcess{u.Handler}, nil
	}
	if u.URL == nil {
		return nil, errors.New("gateway: the upstream has no URL")
	}
	return &http.Transport{
		Proxy:                  u.findProxy,
		DialContext:            u.dial,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    32,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
	}, nil
}

// findProxy returns the proxy that a request goes through; nil for none.
func (u Server) findProxy(r *http.Request) (*url.URL, error) {
	if u.Proxy != nil {
		return u.Proxy(r)
	}
	return http.ProxyFromEnvironment(r)
}

// Authorize adds the real key the way the dialect, or the vendor, wants it.
func (u Server) Authorize(header http.Header, dialect schema.Dialect) {
	if dialect == schema.Anthropic && header.Get("Anthropic-Version") == "" {
		header.Set("Anthropic-Version", "2023-06-01")
	}
	if u.Key.Empty() {
		return
	}
	key := u.Key.Reveal()
	switch {
	case dialect == schema.Gemini:
		header.Set("X-Goog-Api-Key", key)
	case dialect == schema.Anthropic && u.Base().Host == "api.anthropic.com":
		header.Set("X-Api-Key", key)
	case dialect == schema.Anthropic: // compatible servers differ in which one they look at
		header.Set("X-Api-Key", key)
		header.Set("Authorization", "Bearer "+key)
	default:
		header.Set("Authorization", "Bearer "+key)
	}
}
