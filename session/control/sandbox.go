package control

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"aibox/internal/fault"
)

// Sandbox changes a session that is a sandbox.
type Sandbox interface {
	// Update decodes a change of the sandbox, and makes it.
	Update(change json.RawMessage) error
	// SetNetwork decodes new lists of the network policy, and applies them.
	SetNetwork(lists json.RawMessage, reason string) error
	// Claim decodes the claim of a warm sandbox, and returns when processes can be started in
	// it.
	Claim(ctx context.Context, claim json.RawMessage) error
	// Pause stops all programs of the sandbox, and Resume continues them.
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
	// Snapshot decodes the request for a snapshot, and returns when it is stored.
	Snapshot(ctx context.Context, request json.RawMessage) error
}

// maxSandboxChange is the maximum size of a change of a sandbox as JSON.
const maxSandboxChange = 4 << 20

// handleSandbox adds the endpoints of a sandbox. A session with an agent answers with a
// Usage fault.
func handleSandbox(mux *http.ServeMux, sandbox func() Sandbox) {
	handle := func(pattern string, change func(s Sandbox, r *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s := sandbox()
			if s == nil {
				writeResult(w, fault.New(fault.Usage, "the session has an agent; only a sandbox can be changed so"))
				return
			}
			r.Body = http.MaxBytesReader(w, r.Body, maxSandboxChange)
			writeResult(w, change(s, r))
		})
	}
	handle("POST /v1/sandbox", func(s Sandbox, r *http.Request) error {
		change, err := readJSON(r)
		if err != nil {
			return err
		}
		return s.Update(change)
	})
	handle("POST /v1/sandbox/network", func(s Sandbox, r *http.Request) error {
		lists, err := readJSON(r)
		if err != nil {
			return err
		}
		return s.SetNetwork(lists, r.URL.Query().Get("reason"))
	})
	handle("POST /v1/sandbox/claim", func(s Sandbox, r *http.Request) error {
		claim, err := readJSON(r)
		if err != nil {
			return err
		}
		return s.Claim(r.Context(), claim)
	})
	handle("POST /v1/sandbox/snapshot", func(s Sandbox, r *http.Request) error {
		request, err := readJSON(r)
		if err != nil {
			return err
		}
		return s.Snapshot(r.Context(), request)
	})
	handle("POST /v1/sandbox/pause", func(s Sandbox, r *http.Request) error { return s.Pause(r.Context()) })
	handle("POST /v1/sandbox/resume", func(s Sandbox, r *http.Request) error { return s.Resume(r.Context()) })
}

func readJSON(r *http.Request) (json.RawMessage, error) {
	var body json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, fault.New(fault.Usage, "the request is not valid JSON: %w", err)
	}
	return body, nil
}

// UpdateSandbox changes the sandbox; see Sandbox.Update.
func (c Client) UpdateSandbox(ctx context.Context, change any) error {
	return c.postJSON(ctx, "/v1/sandbox", nil, change)
}

// SetNetwork replaces the lists of the network policy; see Sandbox.SetNetwork.
func (c Client) SetNetwork(ctx context.Context, lists any, reason string) error {
	return c.postJSON(ctx, "/v1/sandbox/network", url.Values{"reason": {reason}}, lists)
}

// Claim claims a warm sandbox; see Sandbox.Claim.
func (c Client) Claim(ctx context.Context, claim any) error {
	return c.postJSON(ctx, "/v1/sandbox/claim", nil, claim)
}

// Snapshot stores the state of the sandbox; see Sandbox.Snapshot.
func (c Client) Snapshot(ctx context.Context, request any) error {
	return c.postJSON(ctx, "/v1/sandbox/snapshot", nil, request)
}

// Pause stops all programs of the sandbox.
func (c Client) Pause(ctx context.Context) error { return c.post(ctx, "/v1/sandbox/pause", nil) }

// Resume continues a paused sandbox.
func (c Client) Resume(ctx context.Context) error { return c.post(ctx, "/v1/sandbox/resume", nil) }

func (c Client) postJSON(ctx context.Context, path string, query url.Values, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	response, err := c.send(ctx, http.MethodPost, path, query, bytes.NewReader(body))
	if err != nil {
		return err
	}
	return response.Body.Close()
}
