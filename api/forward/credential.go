package forward

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
)

const (
	grantParameter = "aibox-grant"
	tokenHeader    = "Aibox-Token"

	cookieName       = "aibox-port"
	secureCookieName = "__Host-aibox-port" // only the host itself can set it
)

// credential is a caller and the way it was authenticated.
type credential struct {
	Caller
	expires time.Time // end of its validity; zero means as long as the token
	header  bool      // by a token in a header: a program, which follows redirects with it
}

// errMissing reports a request without a credential.
var errMissing = errors.New("no credential")

func isMissing(err error) bool { return errors.Is(err, errMissing) }

// refusal is the answer to every wrong credential, so that the answer does not reveal which
// sandboxes exist.
func refusal() error {
	return fault.New(fault.Refused, "the credential is not valid for this port").
		Hint("a signed URL may have expired: sign a new one")
}

// authenticate returns the caller of a request. answered is set if the request has its
// answer: a redirect that sets a cookie.
func (f *Forwarder) authenticate(w http.ResponseWriter, r *http.Request, t target) (c credential, answered bool, err error) {
	if err := f.checkBrowser(r, t); err != nil {
		return c, false, err
	}
	if token := tokenOf(r); token != "" {
		caller, err := f.options.Authorizer.Authorize(r.Context(), token)
		return credential{Caller: caller, header: true}, false, err
	}
	if encoded := r.URL.Query().Get(grantParameter); encoded != "" {
		g, err := f.verify(r, t, encoded, inURL)
		if err != nil {
			return c, false, err
		}
		if t.byHost() && isNavigation(r) {
			f.enter(w, r, t, g)
			return c, true, nil
		}
		return g.credential(), false, nil
	}
	if t.byHost() {
		for _, cookie := range r.CookiesNamed(cookieNameOf(r)) {
			g, err := f.verify(r, t, cookie.Value, inCookie)
			switch {
			case err == nil:
				return g.credential(), false, checkSameOrigin(r, t)
			case fault.KindOf(err) == fault.Environment:
				return c, false, err
			}
		}
	} else if caller, err := f.options.Authorizer.Authorize(r.Context(), ""); err == nil {
		return credential{Caller: caller, header: true}, false, nil
	}
	return c, false, fault.New(fault.Refused, "this port needs a token or a signed URL: %w", errMissing)
}

// verify checks a grant for a target, and that the token it was made with is still valid.
func (f *Forwarder) verify(r *http.Request, t target, encoded string, want use) (grant, error) {
	g, ok := f.options.Key.readGrant(encoded, want, f.now())
	if !ok || g.Sandbox != t.sandbox || g.Port != t.port {
		return grant{}, refusal()
	}
	err := f.options.Authorizer.Check(r.Context(), g.credential().Caller)
	switch {
	case fault.KindOf(err) == fault.Environment:
		return grant{}, err
	case err != nil:
		return grant{}, refusal()
	}
	return g, nil
}

func (g grant) credential() credential {
	return credential{Caller: Caller{Tenant: g.Tenant, Token: g.Token}, expires: time.Unix(g.Expires, 0)}
}

// tokenForm is the form of a token of aibox.
var tokenForm = lazyregexp.New(`\baibox_[A-Za-z0-9_-]{43}`)

// tokenOf returns the token of aibox in a request's headers, or "". An Authorization header
// without one is for the program in the sandbox.
func tokenOf(r *http.Request) string {
	if token := r.Header.Get(tokenHeader); token != "" {
		return token
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token = strings.TrimSpace(token); strings.EqualFold(scheme, "Bearer") && tokenForm.MatchString(token) {
		return token
	}
	return ""
}

// cookieNameOf returns the name of aibox's cookie on the connection of a request.
func cookieNameOf(r *http.Request) string {
	if r.TLS != nil {
		return secureCookieName
	}
	return cookieName
}

// enter exchanges the grant of a URL for a cookie, so that the URL with the grant stays in
// no history, log or Referer.
func (f *Forwarder) enter(w http.ResponseWriter, r *http.Request, t target, g grant) {
	g.Use, g.Expires = inCookie, f.now().Add(cookieLifetime).Unix()
	http.SetCookie(w, &http.Cookie{
		Name: cookieNameOf(r), Value: f.options.Key.signGrant(g), Path: "/", Expires: time.Unix(g.Expires, 0),
		HttpOnly: true, Secure: r.TLS != nil, SameSite: http.SameSiteLaxMode,
	})
	to := url.URL{RawQuery: withoutGrant(t.rawQuery)}
	// "//host" would be another host: the redirect stays on this one.
	location := "/" + strings.TrimLeft(t.path, "/\\")
	if to.RawQuery != "" {
		location += "?" + to.RawQuery
	}
	h := w.Header()
	h.Set("Location", location)
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(http.StatusSeeOther)
}

// withoutGrant returns a query without the grant. It keeps the other parameters byte for
// byte.
func withoutGrant(rawQuery string) string {
	if !strings.Contains(rawQuery, "grant") && !strings.Contains(rawQuery, "%") {
		return rawQuery
	}
	var kept []string
	for part := range strings.SplitSeq(rawQuery, "&") {
		name, _, _ := strings.Cut(part, "=")
		if decoded, err := url.QueryUnescape(name); err == nil && decoded == grantParameter {
			continue
		}
		kept = append(kept, part)
	}
	return strings.Join(kept, "&")
}
