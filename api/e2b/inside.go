package e2b

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"

	"aibox/api/e2b/filesystempb"
	"aibox/api/e2b/processpb"
	"aibox/api/server"
)

// Headers of the packages for calls inside a sandbox.
const (
	sandboxHeader = "E2b-Sandbox-Id"
	portHeader    = "E2b-Sandbox-Port"
	tokenHeader   = "X-Access-Token"
	filesPath     = "/files"
	insidePort    = 49983
)

const (
	// maxMessage is the maximum size of a message of a caller in bytes.
	maxMessage = 4 << 20
	// maxAnswer is the maximum size of a message of aibox's API in bytes.
	maxAnswer = 64 << 20
)

// insideQuery are the parameters of calls inside a sandbox. userOf and signatureOf read them for
// every call.
var insideQuery = []string{"path", "username", "signature", "signature_expiration"}

// routeInside adds the routes to the inside of a sandbox.
func (s *Server) routeInside(routes *http.ServeMux) {
	options := append(server.Strict(), connect.WithReadMaxBytes(maxMessage))
	path, handler := processpb.NewProcessHandler(&processes{api: s.backend}, options...)
	routes.HandleFunc(path, s.open(handler.ServeHTTP))
	path, handler = filesystempb.NewFilesystemHandler(&filesystem{api: s.backend, watches: s.watches}, options...)
	routes.HandleFunc(path, s.open(handler.ServeHTTP))
	for pattern, handle := range s.insideCalls() {
		routes.HandleFunc(pattern, s.open(handle))
	}
	routes.HandleFunc("OPTIONS "+filesPath, preflight)
	for pattern, reason := range insideRefusals {
		routes.HandleFunc(pattern, s.open(refuse(reason)))
	}
}

// insideCalls are the calls inside a sandbox that are no RPCs, by their patterns.
func (s *Server) insideCalls() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET " + filesPath:  s.readFile,
		"POST " + filesPath: s.writeFiles,
		"GET /health":       s.health,
		"GET /metrics":      s.insideMetrics,
		// The values of a sandbox's variables are never stored, so there are none to return.
		"GET /envs": func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, struct{}{}) },
	}
}

// insideRefusals are the calls inside a sandbox for which aibox has no use case, with the reasons.
var insideRefusals = map[string]string{
	"POST " + filesPath + "/compose": "aibox does not join files: write the whole file",
}

// open returns a handler that admits calls with a token for the sandbox that they name.
func (s *Server) open(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if isSigned(r) { // it has no other credential that a page could use
			w.Header().Set("Access-Control-Allow-Origin", "*")
			w.Header().Set("Access-Control-Expose-Headers", "*")
		}
		c, err := s.admit(r)
		s.refused(r, methodOf(r), c.sandbox, err)
		if err == nil {
			err = checkQuery(r, insideQuery)
		}
		if err == nil {
			err = s.admitted(r, c, func(r *http.Request) error {
				next(w, r)
				return nil
			})
		}
		if err != nil {
			writeError(w, err)
		}
	}
}

// isSigned reports whether a request is for a file and has a signature in place of a token. Such a
// URL is for browsers, also for pages of any origin: it permits one operation on one file.
func isSigned(r *http.Request) bool {
	return strings.TrimPrefix(r.URL.Path, Root) == filesPath && r.Header.Get(tokenHeader) == "" && r.URL.Query().Has("signature")
}

// preflight tells a browser that pages may use the signed URL of a file.
func preflight(w http.ResponseWriter, r *http.Request) {
	if !isSigned(r) {
		writeError(w, &apiError{http.StatusForbidden, "only a signed URL can be used by a web page"})
		return
	}
	header := w.Header()
	header.Set("Access-Control-Allow-Origin", "*")
	header.Set("Access-Control-Allow-Methods", "GET, POST")
	header.Set("Access-Control-Allow-Headers", "*")
	w.WriteHeader(http.StatusNoContent)
}

// admit finds the sandbox and the caller of a request. A sandbox that does not exist is
// answered like a wrong token. After an error, the caller has only the sandbox that the request names.
func (s *Server) admit(r *http.Request) (caller, error) {
	id, err := s.namedSandbox(r)
	if err != nil {
		return caller{}, err
	}
	named := caller{sandbox: id}
	token, user := r.Header.Get(tokenHeader), userOf(r)
	if isSigned(r) {
		signed := signatureOf(r)
		if id, token, err = s.tokens.verify(signed, id, time.Now()); err != nil {
			return named, &apiError{http.StatusUnauthorized, err.Error()}
		}
		if user != signed.user {
			return named, &apiError{http.StatusUnauthorized, "the signature is not for this user"}
		}
	}
	if id == "" {
		return caller{}, &apiError{http.StatusBadRequest, "the request names no sandbox: the header " + sandboxHeader + " is missing"}
	}
	own, err := s.tokens.open(forInside, id, token)
	if err != nil {
		return named, &apiError{http.StatusUnauthorized, err.Error()}
	}
	return caller{token: own, sandbox: id, user: user}, nil
}

// userOf returns the user of the sandbox whom a request names; empty if it names none.
func userOf(r *http.Request) string {
	if user, _, ok := r.BasicAuth(); ok {
		return user
	}
	return r.URL.Query().Get("username")
}

// namedSandbox returns the sandbox that a request names by its host or its header; empty if
// it names none.
func (s *Server) namedSandbox(r *http.Request) (string, error) {
	id, _, _ := s.parseHost(r.Host)
	for _, header := range r.Header.Values(sandboxHeader) {
		if header == "" || id != "" && id != header {
			return "", &apiError{http.StatusBadRequest, "the request names two sandboxes"}
		}
		id = header
	}
	for _, header := range r.Header.Values(portHeader) {
		if header != strconv.Itoa(insidePort) {
			return "", &apiError{http.StatusBadRequest, "the header " + portHeader + " is " + strconv.Itoa(insidePort) + ": other ports have hosts of their own"}
		}
	}
	if id != "" && !isLabel(id) {
		return "", &apiError{http.StatusBadRequest, strconv.Quote(id) + " is not the id of a sandbox"}
	}
	return id, nil
}

func signatureOf(r *http.Request) signed {
	query := r.URL.Query()
	operation := "read"
	if r.Method == http.MethodPost {
		operation = "write"
	}
	return signed{
		path: query.Get("path"), operation: operation, user: query.Get("username"),
		signature: query.Get("signature"), expires: query.Get("signature_expiration"),
	}
}

// health reports whether the sandbox runs: 204 if it does, otherwise 502, as the packages expect.
func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	if !s.backend.runs(r.Context()) {
		writeError(w, &apiError{http.StatusBadGateway, errGone.Message()})
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// insideMetrics answers with the sandbox's resource usage, as the packages' program inside a
// sandbox does.
func (s *Server) insideMetrics(w http.ResponseWriter, r *http.Request) {
	m, err := s.metric(r.Context(), callerOf(r.Context()).sandbox)
	if err != nil {
		writeError(w, s.backend.insideError(r.Context(), err))
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"ts": m.Unix, "cpu_count": m.CPUs, "cpu_used_pct": m.CPUPercent, "mem_total": m.MemoryTotal, "mem_used": m.MemoryUsed, "mem_cache": 0,
		"mem_total_mib": m.MemoryTotal >> 20, "mem_used_mib": m.MemoryUsed >> 20, "disk_used": m.DiskUsed, "disk_total": m.DiskTotal,
	})
}
