package e2b

import (
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"
	"github.com/go-json-experiment/json"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/server"
)

// maxBody is the maximum size of a body of the control plane in bytes.
const maxBody = 1 << 20

// calls are the calls of the control plane, by their patterns.
func (s *Server) calls() map[string]func(w http.ResponseWriter, r *http.Request) error {
	return map[string]func(w http.ResponseWriter, r *http.Request) error{
		"POST /sandboxes":                 s.createSandbox,
		"POST /v2/sandboxes":              s.createSandbox,
		"GET /sandboxes":                  s.listRunning,
		"GET /v2/sandboxes":               s.listSandboxes,
		"GET /sandboxes/metrics":          s.metricsOfMany,
		"GET /sandboxes/{id}":             s.getSandbox,
		"DELETE /sandboxes/{id}":          s.deleteSandbox,
		"POST /sandboxes/{id}/connect":    s.connectSandbox,
		"POST /v2/sandboxes/{id}/connect": s.connectSandbox,
		"POST /sandboxes/{id}/resume":     s.resumeSandbox,
		"POST /sandboxes/{id}/pause":      s.pauseSandbox,
		"POST /sandboxes/{id}/timeout":    s.setTimeout,
		"POST /sandboxes/{id}/refreshes":  s.refresh,
		"POST /sandboxes/{id}/snapshots":  s.createSnapshot,
		"POST /sandboxes/{id}/fork":       s.forkSandbox,
		"GET /snapshots":                  s.listSnapshots,
		"PUT /sandboxes/{id}/network":     s.setNetwork,
		"GET /sandboxes/{id}/metrics":     s.sandboxMetrics,
		"GET /templates/aliases/{name}":   s.findTemplate,
		"DELETE /templates/{name}":        s.deleteTemplate,
		"POST /volumes":                   s.createVolume,
		"GET /volumes":                    s.listVolumes,
		"GET /volumes/{name}":             s.getVolume,
		"DELETE /volumes/{name}":          s.deleteVolume,
	}
}

// routeControl adds the control plane.
func (s *Server) routeControl() {
	for pattern, handle := range s.calls() {
		s.routes.HandleFunc(pattern, s.control(func(w http.ResponseWriter, r *http.Request) error {
			if err := checkQuery(r, queries[pattern]); err != nil {
				return err
			}
			return handle(w, r)
		}))
	}
	for pattern, reason := range refusals {
		s.routes.HandleFunc(pattern, s.control(func(http.ResponseWriter, *http.Request) error {
			return &apiError{http.StatusNotImplemented, reason}
		}))
	}
}

// listQuery are the parameters of lists of sandboxes.
var listQuery = []string{"metadata", "state", "template", "limit", "nextToken", "order", "startedAfter"}

// queries are the parameters of the calls that have some.
var queries = map[string][]string{
	"GET /sandboxes":              listQuery,
	"GET /v2/sandboxes":           listQuery,
	"GET /sandboxes/metrics":      {"sandbox_ids"},
	"GET /sandboxes/{id}/metrics": {"start", "end"}, // there are only current values
	"GET /snapshots":              {"sandboxID", "name", "limit", "nextToken"},
}

// checkQuery refuses a query with parameters that are unknown or given more than once: a filter
// must not silently have no effect.
func checkQuery(r *http.Request, known []string) error {
	if err := server.CheckQuery(r, known...); err != nil {
		return &apiError{http.StatusBadRequest, err.Error()}
	}
	return nil
}

// refusals are the calls of the packages for which aibox has no use case, with the reasons.
var refusals = map[string]string{
	"GET /sandboxes/{id}/logs":    "aibox has no log of a sandbox in lines: `aibox logs` and `aibox audit` show what a sandbox did",
	"GET /v2/sandboxes/{id}/logs": "aibox has no log of a sandbox in lines: `aibox logs` and `aibox audit` show what a sandbox did",
	"/templates":                  noBuilds,
	"/templates/":                 noBuilds,
	"DELETE /templates/tags":      "aibox's templates have no tags", // not a template of that name
	"/v2/templates":               noBuilds,
	"/v2/templates/":              noBuilds,
	"/v3/templates":               noBuilds,
	"/v3/templates/":              noBuilds,
	"/secrets":                    noSecrets,
	"/secrets/":                   noSecrets,
	"/volumecontent/":             "aibox opens the files of a volume only inside a sandbox: mount it in one",
}

const (
	noBuilds  = "aibox builds templates by its own API and by `aibox template create`"
	noSecrets = "aibox takes secrets only from the settings of its user: see `--secret`"
)

// control returns the handler of a call of the control plane.
func (s *Server) control(handle func(w http.ResponseWriter, r *http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		token := r.Header.Get("X-API-KEY")
		if token == "" {
			token, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		}
		err := checkControl(r, token)
		s.refused(r, methodOf(r), r.PathValue("id"), err)
		if err == nil {
			err = s.admitted(r, caller{token: token}, func(r *http.Request) error { return handle(w, r) })
		}
		if err != nil {
			writeError(w, err)
		}
	}
}

// noToken is the message of a call without a valid token.
const noToken = "the header X-API-KEY holds no valid token of aibox: `aibox token create` makes one"

// checkControl refuses a call without a token, and one that names two sandboxes.
func checkControl(r *http.Request, token string) error {
	if token == "" || len(token) > maxToken || strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return &apiError{http.StatusUnauthorized, noToken}
	}
	for _, header := range r.Header.Values(sandboxHeader) {
		if header != r.PathValue("id") {
			return &apiError{http.StatusBadRequest, "the header " + sandboxHeader + " and the path name two sandboxes"}
		}
	}
	return nil
}

// readBody decodes the body of a call. An empty body leaves into unchanged.
func readBody(w http.ResponseWriter, r *http.Request, into any) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return &apiError{http.StatusRequestEntityTooLarge, "the body is larger than " + strconv.Itoa(maxBody) + " bytes"}
	case connect.CodeOf(err) == connect.CodeResourceExhausted:
		return err
	case err != nil:
		return &apiError{http.StatusBadRequest, "the body broke off"}
	case len(data) == 0:
		return nil
	}
	// A setting must not silently have no effect: no unknown name, no name twice, and none that
	// differs from a field only in its case.
	if err := json.Unmarshal(data, into, json.RejectUnknownMembers(true)); err != nil {
		return &apiError{http.StatusBadRequest, "the body is no valid JSON for this call: " + err.Error()}
	}
	return nil
}

// findTemplate reports whether a template exists.
func (s *Server) findTemplate(w http.ResponseWriter, r *http.Request) error {
	found, err := s.backend.templates.Get(r.Context(), connect.NewRequest(&aiboxv1.GetTemplateRequest{Name: templateName(r.PathValue("name"))}))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, map[string]any{"templateID": found.Msg.Name, "public": found.Msg.Builtin})
	return nil
}

// deleteTemplate deletes a template of the caller, or a snapshot, which the packages name in
// the same way.
func (s *Server) deleteTemplate(w http.ResponseWriter, r *http.Request) error {
	if name := r.PathValue("name"); strings.HasPrefix(name, snapshotPrefix) {
		if _, err := s.backend.sandboxes.DeleteSnapshot(r.Context(), connect.NewRequest(&aiboxv1.DeleteSnapshotRequest{SnapshotId: name})); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if _, err := s.backend.templates.Delete(r.Context(), connect.NewRequest(&aiboxv1.DeleteTemplateRequest{Name: r.PathValue("name")})); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
