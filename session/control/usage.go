package control

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// maxUsage is the maximum size of a measurement as JSON.
const maxUsage = 64 << 10

// Usage measures what the sandbox uses, and returns the result as JSON.
func (c Client) Usage(ctx context.Context) (json.RawMessage, error) {
	response, err := c.call(ctx, http.MethodGet, "/v1/usage", nil)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var used json.RawMessage
	return used, json.NewDecoder(io.LimitReader(response.Body, maxUsage)).Decode(&used)
}

// serveUsage measures what the sandbox uses.
func serveUsage(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		used, err := c.Usage()
		if err != nil {
			writeResult(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(used)
	}
}
