package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// maxLine is the maximum size of a line on the control socket. A Live can be larger than
// events of the log.
const maxLine = 1 << 20

// readLines visits the lines of JSON in the supervisor's answer. If the supervisor dies, it
// returns ErrNoSupervisor.
func readLines[T any](ctx context.Context, c Client, method, path string, query url.Values, visit func(T) error) error {
	response, err := c.call(ctx, method, path, query)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	limited := &io.LimitedReader{R: response.Body}
	in := json.NewDecoder(limited)
	for {
		limited.N = maxLine
		var line T
		err := in.Decode(&line)
		switch {
		case errors.Is(err, io.EOF) && limited.N > 0:
			return nil
		case err != nil && ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return fmt.Errorf("%w: %w", ErrNoSupervisor, err)
		}
		if err := visit(line); err != nil {
			return err
		}
	}
}

// writeLines answers with the values that stream visits, each as a line of JSON at once.
func writeLines[T any](w http.ResponseWriter, stream func(visit func(T) error) error) {
	w.Header().Set("Content-Type", "application/jsonl")
	w.WriteHeader(http.StatusOK)
	out := http.NewResponseController(w)
	_ = out.Flush()
	line := json.NewEncoder(w)
	err := stream(func(value T) error {
		if err := line.Encode(value); err != nil {
			return err
		}
		return out.Flush()
	})
	if err != nil {
		panic(http.ErrAbortHandler) // so that the client sees that the answer is incomplete
	}
}
