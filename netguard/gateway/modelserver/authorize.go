package modelserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"aibox/internal/fault"
	"aibox/netguard/gateway/schema"
)

// authorized is a transport that sends requests to the server's paths with its credential.
// A request's context holds its Call. A credential that the server refuses is renewed once,
// if there is another one.
type authorized struct {
	server Server
	base   *http.Transport
}

// RoundTrip sends a request.
func (t authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	c := callOf(r.Context())
	out, err := t.routed(r, c)
	if err != nil {
		return nil, errors.Join(err, closeBody(r))
	}
	credential, err := t.server.credential(r.Context())
	if err == nil {
		err = t.server.authorize(out, c, credential)
	}
	if err != nil {
		return nil, errors.Join(keyError{err}, closeBody(r))
	}
	response, err := t.base.RoundTrip(out)
	if err != nil || !refusesKey(response) || t.server.keys == nil {
		return response, err
	}
	fresh, ok := t.server.keys.renew(r.Context(), credential)
	if !ok {
		return response, nil
	}
	again, ok := rewind(out) // now it has to be sent or closed, or else it keeps its memory
	if !ok {
		return response, nil
	}
	if err := t.server.authorize(again, c, fresh); err != nil {
		return response, closeBody(again)
	}
	_ = response.Body.Close()
	return t.base.RoundTrip(again)
}

// CloseIdleConnections closes the connections that no request uses.
func (t authorized) CloseIdleConnections() { t.base.CloseIdleConnections() }

// routed returns the request for the server, without its credential.
func (t authorized) routed(r *http.Request, c Call) (*http.Request, error) {
	out := r.Clone(r.Context())
	if t.server.cloud == nil {
		return out, nil
	}
	root := strings.TrimSuffix(t.server.Base().Path, "/")
	path, query, ok := t.server.cloud.route(c, strings.TrimPrefix(out.URL.Path, root))
	if !ok {
		return nil, ErrUnserved
	}
	out.URL.Path, out.URL.RawPath = root+path, ""
	if len(query) > 0 {
		all := out.URL.Query()
		for name, values := range query {
			all[name] = values
		}
		out.URL.RawQuery = all.Encode()
	}
	return out, nil
}

// refusesKey reports whether a server no longer accepts a credential. AWS answers 403 to
// expired ones.
func refusesKey(response *http.Response) bool {
	return response.StatusCode == http.StatusUnauthorized ||
		response.StatusCode == http.StatusForbidden && strings.Contains(response.Header.Get("X-Amzn-Errortype"), "ExpiredToken")
}

// rewind returns the request with its body from the beginning; false when there is none.
func rewind(r *http.Request) (*http.Request, bool) {
	again := r.Clone(r.Context())
	if r.Body == nil || r.Body == http.NoBody {
		return again, true
	}
	if r.GetBody == nil {
		return nil, false
	}
	body, err := r.GetBody()
	again.Body = body
	return again, err == nil
}

func closeBody(r *http.Request) error {
	if r.Body == nil {
		return nil
	}
	return r.Body.Close()
}

// keyError reports that a credential could not be obtained.
type keyError struct{ err error }

func (e keyError) Error() string { return "getting the key: " + e.err.Error() }
func (e keyError) Unwrap() error { return e.err }

// fault describes the error.
func (e keyError) fault() *fault.Fault {
	if f, ok := errors.AsType[*fault.Fault](e.err); ok {
		return f
	}
	return fault.New(fault.Environment, "the key of the model server cannot be had (%s)", fmt.Sprintf("%T", e.err))
}

// credential returns the server's credential; empty if it needs none.
func (u Server) credential(ctx context.Context) (Credential, error) {
	if u.keys == nil {
		return Credential{Key: u.Key}, nil
	}
	return u.keys.credential(ctx)
}

// authorize adds the credential in the form that the dialect or the vendor requires.
func (u Server) authorize(r *http.Request, c Call, credential Credential) error {
	header := r.Header
	if c.Dialect == schema.Anthropic && header.Get("Anthropic-Version") == "" {
		header.Set("Anthropic-Version", "2023-06-01")
	}
	if credential.Key.Empty() {
		return nil
	}
	key := credential.Key.Reveal()
	switch {
	case u.cloud != nil:
		return u.cloud.authorize(r, c, credential)
	case c.Dialect == schema.Gemini:
		header.Set("X-Goog-Api-Key", key)
	case c.Dialect == schema.Anthropic && u.Base().Host == "api.anthropic.com":
		header.Set("X-Api-Key", key)
	case c.Dialect == schema.Anthropic: // compatible servers differ in which one they read
		header.Set("X-Api-Key", key)
		header.Set("Authorization", "Bearer "+key)
	default:
		header.Set("Authorization", "Bearer "+key)
	}
	return nil
}
