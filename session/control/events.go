package control

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"aibox/audit"
)

// Events visits events from the number from on until the log ends. If the supervisor dies,
// it returns ErrNoSupervisor.
func (c Client) Events(ctx context.Context, from int, visit func(audit.Event) error) error {
	return readLines(ctx, c, http.MethodGet, "/v1/events", url.Values{"from": {strconv.Itoa(from)}}, visit)
}

// serveEvents streams events as lines of JSON.
func serveEvents(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, err := strconv.Atoi(r.FormValue("from"))
		if err != nil || from < 0 {
			http.Error(w, "from must be the number of an event", http.StatusBadRequest)
			return
		}
		writeLines(w, func(visit func(audit.Event) error) error { return c.Events(r.Context(), from, visit) })
	}
}
