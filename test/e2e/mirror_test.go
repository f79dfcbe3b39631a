package e2e

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

// mirror passes requests on to registries: /HOST/PATH leads to PATH of HOST. A nil mirror
// leaves every address as it is.
type mirror struct {
	*outside
}

// newMirror returns a mirror of the registries, or nil if a sandbox can reach all of them.
func newMirror(t testing.TB, registries []registry) *mirror {
	t.Helper()
	schemes := map[string]string{}
	needed := false
	for _, r := range registries {
		for n, address := range r.hosts {
			scheme, _, _ := strings.Cut(address, ":")
			schemes[r.name(t, n)] = scheme
			needed = needed || !public(t, r.name(t, n))
		}
	}
	if !needed {
		return nil
	}
	m := &mirror{}
	upstream := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			host, path := parts(r.In.URL)
			r.Out.URL = (&url.URL{Scheme: schemes[host], Host: host, Path: "/", RawQuery: r.In.URL.RawQuery}).JoinPath(path)
			r.Out.Host = host
			r.Out.Header.Set("Accept-Encoding", "identity")
		},
		ModifyResponse: func(r *http.Response) error { return m.rewrite(r, schemes) },
	}
	m.outside = newOutside(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if host, _ := parts(r.URL); schemes[host] == "" {
			http.NotFound(w, r)
			return
		}
		upstream.ServeHTTP(w, r)
	}))
	t.Logf("the registries' names lead to addresses that no sandbox reaches, so %s passes requests on", m.Name)
	return m
}

// parts returns the host and the escaped path that a request to the mirror is about.
func parts(u *url.URL) (host, path string) {
	host, path, _ = strings.Cut(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	host, _ = url.PathUnescape(host) // pip escapes the colon before a port
	return host, path
}

// rewrite makes the links of an index lead to the mirror.
func (m *mirror) rewrite(r *http.Response, schemes map[string]string) error {
	kind := r.Header.Get("Content-Type")
	if !strings.Contains(kind, "json") && !strings.Contains(kind, "html") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return err
	}
	for host, scheme := range schemes {
		body = bytes.ReplaceAll(body, []byte(scheme+"://"+host+"/"), []byte(m.address(scheme+"://"+host+"/")))
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return nil
}

// address returns the address at which a sandbox finds what is at the address of a registry.
func (m *mirror) address(of string) string {
	if m == nil {
		return of
	}
	scheme, rest, _ := strings.Cut(of, "://")
	return scheme + "://" + m.Name + "/" + rest
}

// host returns the host at which a sandbox finds a registry.
func (m *mirror) host(of string) string {
	if m == nil {
		return of
	}
	return m.Name
}

// authority returns the authority that sandboxes must trust.
func (m *mirror) authority() string {
	if m == nil {
		return "\n"
	}
	return m.CA
}
