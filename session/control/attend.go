package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// serveAttend streams the open requests as lines of JSON.
func serveAttend(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/jsonl")
		w.WriteHeader(http.StatusOK)
		out := http.NewResponseController(w)
		_ = out.Flush()
		line := json.NewEncoder(w)
		err := c.Attend(r.Context(), func(requests any) error {
			if err := line.Encode(requests); err != nil {
				return err
			}
			return out.Flush()
		})
		if err != nil {
			panic(http.ErrAbortHandler) // so that the client sees that the answer is incomplete
		}
	}
}

// Attend visits the open requests of the session as JSON, and again whenever they change,
// until the session makes no more or ctx ends. Meanwhile the session counts as attended:
// visit's caller must show the requests to a user who can answer them. A supervisor of a
// version that never asks is a RefusedError.
func (c Client) Attend(ctx context.Context, visit func(requests json.RawMessage) error) error {
	response, err := c.call(ctx, http.MethodGet, "/v1/attend", nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	limited := &io.LimitedReader{R: response.Body}
	in := json.NewDecoder(limited)
	for {
		limited.N = maxEvent
		var requests json.RawMessage
		err := in.Decode(&requests)
		switch {
		case errors.Is(err, io.EOF) && limited.N > 0:
			return nil
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%w: %w", ErrNoSupervisor, err)
		}
		if err := visit(requests); err != nil {
			return err
		}
	}
}
