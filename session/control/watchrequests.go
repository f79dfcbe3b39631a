package control

import (
	"context"
	"encoding/json"
	"net/http"
)

// requestsPath is the path of WatchRequests. It keeps its first name, since supervisors and
// clients of older versions use it.
const requestsPath = "/v1/attend"

// serveWatchRequests streams the open requests as lines of JSON.
func serveWatchRequests(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		writeLines(w, func(visit func(any) error) error { return c.WatchRequests(r.Context(), visit) })
	}
}

// WatchRequests visits the open requests of the session as JSON, and again whenever they
// change, until the session makes no more or ctx ends. Meanwhile the session asks instead
// of refusing: visit's caller must show the requests to a user who can answer them. If the
// supervisor's version never asks, the error is a RefusedError.
func (c Client) WatchRequests(ctx context.Context, visit func(requests json.RawMessage) error) error {
	return readLines(ctx, c, http.MethodGet, requestsPath, nil, visit)
}
