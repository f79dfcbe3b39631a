package control

import (
	"context"
	"encoding/json"
	"net/http"
)

// serveAttend streams the open requests as lines of JSON.
func serveAttend(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		writeLines(w, func(visit func(any) error) error { return c.Attend(r.Context(), visit) })
	}
}

// Attend visits the open requests of the session as JSON, and again whenever they change,
// until the session makes no more or ctx ends. Meanwhile the session counts as attended:
// visit's caller must show the requests to a user who can answer them. A supervisor of a
// version that never asks is a RefusedError.
func (c Client) Attend(ctx context.Context, visit func(requests json.RawMessage) error) error {
	return readLines(ctx, c, http.MethodGet, "/v1/attend", nil, visit)
}
