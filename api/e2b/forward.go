package e2b

import (
	"net/http"
	"strconv"
)

// trafficHeader has the token for the ports of a sandbox.
const trafficHeader = "E2b-Traffic-Access-Token"

// forward sends a request to a port of a sandbox, by aibox's own API. The token for the
// ports is not sent on.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, id string, port int) {
	own, err := s.tokens.open(forPorts, id, r.Header.Get(trafficHeader))
	if err != nil {
		writeError(w, &apiError{http.StatusForbidden, "the ports of a sandbox need its trafficAccessToken in the header " + trafficHeader})
		return
	}
	prefix := "/v1/sandboxes/" + id + "/ports/" + strconv.Itoa(port)
	sent := r.Clone(r.Context())
	sent.URL.Path = prefix + r.URL.Path
	if r.URL.RawPath != "" {
		sent.URL.RawPath = prefix + r.URL.RawPath
	}
	sent.RequestURI = ""
	sent.Header.Del(trafficHeader)
	sent.Header.Set("Authorization", "Bearer "+own)
	s.api.ServeHTTP(w, sent)
}
