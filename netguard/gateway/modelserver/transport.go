package modelserver

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"aibox/internal/receivebuffer"
)

// Transport reaches the server with the real key. It accepts requests to paths below Base
// whose context has a Call, and up to most at a time: the memory for answers that are not read is
// bounded by that. An answer must start within the timeout; 0 means no limit. The user's own proxy
// settings apply, since this runs on the user's side.
func (u Server) Transport(timeout time.Duration, most int) (http.RoundTripper, error) {
	if u.Kind == Scripted {
		if u.Handler == nil {
			return nil, errors.New("gateway: the scripted upstream has no handler")
		}
		return inProcess{u.Handler}, nil
	}
	if u.URL == nil {
		return nil, errors.New("gateway: the upstream has no URL")
	}
	return authorized{u, &http.Transport{
		Proxy:                  u.findProxy,
		DialContext:            u.dial,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConnsPerHost:    32,
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: 256 << 10,
		HTTP2:                  receivebuffer.Config(receivebuffer.Response, most),
		ResponseHeaderTimeout:  timeout, // a local model may think long before its first byte
	}}, nil
}

// findProxy returns the proxy that a request goes through; nil for none.
func (u Server) findProxy(r *http.Request) (*url.URL, error) {
	if u.Proxy != nil {
		return u.Proxy(r)
	}
	return http.ProxyFromEnvironment(r)
}
