// Package e2b lets programs that use the npm or PyPI package named e2b work with aibox: it
// answers the calls of those packages by calls of aibox's own API. It holds no use case, and
// decides nothing about tenants, rights, quotas or networks: each call goes to the API with
// the caller's token. Features that aibox does not have are refused with errors that the
// packages report as their own.
//
// The packages call two things. The control plane is JSON over HTTP with the header
// X-API-KEY. The inside of a sandbox is Connect RPC and a few HTTP paths, with the headers
// E2b-Sandbox-Id and X-Access-Token, or on a separate host for each sandbox and port.
package e2b

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"aibox/api/server"
	"aibox/internal/fault"
	"aibox/internal/namedlock"
)

// Root is the path below which the server answers, besides the hosts of sandboxes.
const Root = "/e2b"

// envdVersion is the version that the server reports for the program inside a sandbox. The
// packages use nothing that is newer than this version.
const envdVersion = "0.6.4"

// KeySize is the size of Config.Key in bytes.
const KeySize = 32

// Config configures a Server.
type Config struct {
	// API serves aibox's own API. It authenticates each call by its bearer token.
	API http.Handler
	// Key seals the tokens for the inside of sandboxes. Tokens survive a restart of the
	// server if the key does.
	Key []byte
	// Domains are the domains of the hosts of sandboxes: PORT-SANDBOX.DOMAIN is a port of a
	// sandbox. Empty means localhost.
	Domains []string
	// OwnDomain says that the hosts of sandboxes are below the first of the domains, whatever
	// name the caller uses for the server.
	OwnDomain bool
}

// Server answers the calls of the packages. It is safe for concurrent use. Close it.
type Server struct {
	backend   *backend
	tokens    *tokens
	watches   *watchers
	forks     *forkNames
	domains   []string
	ownDomain bool
	changes   namedlock.Set  // by sandbox; see changing
	routes    *http.ServeMux // of both planes
	inside    *http.ServeMux // only for requests to the inside of a sandbox

	// enter admits the caller of a request, by its token of aibox, until done is called; see
	// server.Server.Enter. Nil admits all: the API decides about each call.
	enter func(r *http.Request, token string, collects bool) (ctx context.Context, done func(), err error)
	// record records a request that was refused. Nil records nothing.
	record func(ctx context.Context, call server.Call)
}

// New returns a server.
func New(c Config) (*Server, error) {
	if len(c.Key) != KeySize {
		return nil, errors.New("the key for tokens has a wrong size")
	}
	s := &Server{
		backend: newBackend(c.API), tokens: newTokens(c.Key), watches: newWatchers(), forks: newForkNames(c.Key),
		domains: c.Domains, ownDomain: c.OwnDomain, routes: http.NewServeMux(), inside: http.NewServeMux(),
	}
	if len(s.domains) == 0 {
		s.domains = []string{defaultDomain}
	}
	s.routeControl()
	s.routeInside(s.routes)
	s.routeInside(s.inside)
	for _, routes := range []*http.ServeMux{s.routes, s.inside} {
		routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			writeError(w, &apiError{http.StatusNotFound, "there is no " + r.Method + " " + strconv.Quote(r.URL.Path)})
		})
	}
	return s, nil
}

// admitted calls do with the request of a caller who is admitted.
func (s *Server) admitted(r *http.Request, c caller, do func(*http.Request) error) error {
	ctx := r.Context()
	if s.enter != nil {
		isUpload := r.Method == http.MethodPost && r.URL.Path == filesPath // files pass through in pieces
		entered, done, err := s.enter(r, c.token, !isUpload)
		if err != nil {
			return err
		}
		defer done()
		ctx = entered
	}
	r = r.WithContext(withCaller(ctx, c))
	r.Body = limitedBody{r.Body}
	return do(r)
}

// refused records a request whose token or signature is not valid. Only the server's own checks
// record others.
func (s *Server) refused(r *http.Request, method, sandbox string, err error) {
	var answer *apiError
	if s.record == nil || !errors.As(err, &answer) || answer.status != http.StatusUnauthorized && answer.status != http.StatusForbidden {
		return
	}
	s.record(r.Context(), server.Call{Method: method, Subject: sandbox, Err: fault.New(fault.Refused, "%s", answer.message)})
}

// methodOf returns how the record names a request: without its query, which may hold a signature.
func methodOf(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?") // the handlers see the path without Root
	return r.Method + " " + path
}

// limitedBody reports a limit of the server as an error of Connect, which the handlers of RPCs
// pass on.
type limitedBody struct{ io.ReadCloser }

// Read implements io.Reader.
func (b limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if full := (*fault.Fault)(nil); errors.As(err, &full) && full.Kind == fault.Limit {
		err = connect.NewError(connect.CodeResourceExhausted, err)
	}
	return n, err
}

// Close ends the calls that the server makes, and the watches that it holds.
func (s *Server) Close() error {
	s.watches.close()
	return s.backend.close()
}

// Paths are the patterns of the paths that the server answers. The packages leave out Root in
// the URLs of files.
func Paths() []string { return []string{Root + "/", filesPath} }

// ServeHTTP answers a request for one of Paths.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, found := strings.CutPrefix(r.URL.Path, Root)
	if found && (path == "" || path[0] == '/') {
		shortened := r.Clone(r.Context())
		shortened.URL.Path, shortened.URL.RawPath = cmp.Or(path, "/"), ""
		r = shortened
	}
	s.routes.ServeHTTP(w, r)
}
