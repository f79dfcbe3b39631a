package control

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"aibox/internal/fault"
)

// maxLists is the maximum size of the lists of a policy as JSON.
const maxLists = 4 << 20

// maxListsInURL is the maximum size of entries in a URL, where older supervisors expect them all. A
// request's head is limited to 16 KiB; more entries are in its body.
const maxListsInURL = 15 << 10

// policyEntries are the entries that a change adds to the lists.
type policyEntries struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
}

// ChangePolicy adds entries to the lists of the session's network policy, and decodes the
// new ones into result.
func (c Client) ChangePolicy(ctx context.Context, allow, deny []string, reason string, result any) error {
	query, body := url.Values{"allow": allow, "deny": deny, "reason": {reason}}, []byte(nil)
	if len(query.Encode()) > maxListsInURL {
		var err error
		if body, err = json.Marshal(policyEntries{allow, deny}); err != nil {
			return err
		}
		query = url.Values{"reason": {reason}}
	}
	response, err := c.send(ctx, http.MethodPost, "/v1/policy", query, bytes.NewReader(body))
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
		entries := policyEntries{query["allow"], query["deny"]}
		if r.ContentLength != 0 {
			if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxLists)).Decode(&entries); err != nil {
				writeResult(w, fault.New(fault.Usage, "the entries of the policy are not valid JSON: %w", err))
				return
			}
		}
		if len(entries.Allow)+len(entries.Deny) == 0 {
			writeResult(w, fault.New(fault.Usage, "a change of the policy needs entries to allow or deny"))
			return
		}
		result, err := c.ChangePolicy(entries.Allow, entries.Deny, query.Get("reason"))
		if err != nil {
			writeResult(w, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result)
	}
}
