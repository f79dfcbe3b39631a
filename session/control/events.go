package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"aibox/audit"
)

// maxEvent is the maximum size of an event on the control socket. A Live can be larger than
// events of the log.
const maxEvent = 1 << 20

// Events visits events from number from on until the log ends. If the supervisor dies, it
// returns ErrNoSupervisor.
func (c Client) Events(ctx context.Context, from int, visit func(audit.Event) error) error {
	response, err := c.call(ctx, http.MethodGet, "/v1/events", url.Values{"from": {strconv.Itoa(from)}})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	limited := &io.LimitedReader{R: response.Body}
	in := json.NewDecoder(limited)
	for {
		limited.N = maxEvent
		var e audit.Event
		err := in.Decode(&e)
		switch {
		case errors.Is(err, io.EOF) && limited.N > 0:
			return nil
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%w: %w", ErrNoSupervisor, err)
		}
		if err := visit(e); err != nil {
			return err
		}
	}
}

// serveEvents streams events as lines of JSON.
func serveEvents(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		from, err := strconv.Atoi(r.FormValue("from"))
		if err != nil || from < 0 {
			http.Error(w, "from must be the number of an event", http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/jsonl")
		w.WriteHeader(http.StatusOK)
		out := http.NewResponseController(w)
		_ = out.Flush()
		line := json.NewEncoder(w)
		err = c.Events(r.Context(), from, func(e audit.Event) error {
			if err := line.Encode(e); err != nil {
				return err
			}
			return out.Flush()
		})
		if err != nil {
			panic(http.ErrAbortHandler) // so that the client sees that the answer is incomplete
		}
	}
}
