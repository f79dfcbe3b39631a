// Package e2b lets programs that use the npm or PyPI package named e2b work with aibox: it
// answers the calls of those packages by calls of aibox's own API. It holds no use case, and
// decides nothing about tenants, rights, quotas or networks: each call goes to the API with
// the caller's token. What aibox does not have is refused in a way that the packages report
// as an error of their own.
//
// The packages call two things. The control plane is JSON over HTTP with the header
// X-API-KEY. The inside of a sandbox is Connect RPC and a few HTTP paths, with the headers
// E2b-Sandbox-Id and X-Access-Token, or on a host of its own for each sandbox and port.
package e2b

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// Root is the path below which the server answers, besides the hosts of sandboxes.
const Root = "/e2b"

// envdVersion is the version of the program inside a sandbox that the packages are told.
// They ask for nothing newer than this version has.
const envdVersion = "0.6.4"

// KeySize is the size of Config.Key in bytes.
const KeySize = 32

// Config configures a Server.
type Config struct {
	// API serves aibox's own API. It authenticates each call by its bearer token.
	API http.Handler
	// Host is a name that the API answers to. Empty means localhost.
	Host string
	// Key seals the tokens for the inside of sandboxes. Tokens survive a restart of the
	// server if the key does.
	Key []byte
	// Domain is the domain of the hosts of sandboxes, with a port if it is not that of
	// HTTPS: PORT-SANDBOX.DOMAIN is a port of a sandbox. Empty means that there are no such
	// hosts.
	Domain string
}

// Server answers the calls of the packages. It is safe for concurrent use. Close it.
type Server struct {
	api     http.Handler
	backend *backend
	tokens  *tokens
	watches *watchers
	domain  string
	routes  *http.ServeMux
}

// New returns a server.
func New(c Config) (*Server, error) {
	if len(c.Key) != KeySize {
		return nil, errors.New("the key for tokens has a wrong size")
	}
	s := &Server{
		api: c.API, backend: newBackend(c.API, cmp.Or(c.Host, "localhost")), tokens: newTokens(c.Key), watches: newWatchers(),
		domain: strings.ToLower(c.Domain), routes: http.NewServeMux(),
	}
	s.routeControl()
	s.routeInside()
	s.routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeError(w, &apiError{http.StatusNotFound, "there is no " + r.Method + " " + strconv.Quote(r.URL.Path)})
	})
	return s, nil
}

// Close ends the calls that the server makes, and the watches that it holds.
func (s *Server) Close() error {
	s.watches.close()
	return s.backend.close()
}

// Claims reports whether a request is for this server: below Root, to a host of a sandbox,
// or with the header that names a sandbox. The packages leave out Root in the URLs of files.
func (s *Server) Claims(r *http.Request) bool {
	if _, _, ok := parseHost(r.Host, s.domain); ok {
		return true
	}
	return r.URL.Path == Root || strings.HasPrefix(r.URL.Path, Root+"/") || r.URL.Path == filesPath || r.Header.Values(sandboxHeader) != nil
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if id, port, ok := parseHost(r.Host, s.domain); ok && port != insidePort {
		s.forward(w, r, id, port)
		return
	}
	s.routes.ServeHTTP(w, withoutRoot(r))
}

// withoutRoot removes Root from a request's path.
func withoutRoot(r *http.Request) *http.Request {
	path, found := strings.CutPrefix(r.URL.Path, Root)
	if !found || path != "" && path[0] != '/' {
		return r
	}
	shortened := r.Clone(r.Context())
	shortened.URL.Path, shortened.URL.RawPath = cmp.Or(path, "/"), ""
	return shortened
}
