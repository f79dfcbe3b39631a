package control

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"aibox/internal/fault"
)

// maxLists is the maximum size of the lists of a policy as JSON.
const maxLists = 4 << 20

// ChangePolicy adds entries to the lists of the session's network policy, and decodes the
// new ones into result.
func (c Client) ChangePolicy(ctx context.Context, allow, deny []string, reason string, result any) error {
	response, err := c.call(ctx, http.MethodPost, "/v1/policy", url.Values{"allow": allow, "deny": deny, "reason": {reason}})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	return json.NewDecoder(io.LimitReader(response.Body, maxLists)).Decode(result)
}

// servePolicy changes the lists of the session's network policy.
func servePolicy(c Session) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		allow, deny := query["allow"], query["deny"]
		if len(allow)+len(deny) == 0 {
			writeResult(w, fault.New(fault.Usage, "a change of the policy needs entries to allow or deny"))
			return
		}
		result, err := c.ChangePolicy(allow, deny, query.Get("reason"))
		if err != nil {
			writeResult(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result)
	}
}
