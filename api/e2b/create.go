package e2b

import (
	"encoding/json"
	"net/http"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/durationpb"

	aiboxv1 "aibox/api/aibox/v1"
)

// defaultTimeout is the timeout in seconds that the packages document.
const defaultTimeout = 300

// newSandboxJSON is the request to create a sandbox.
type newSandboxJSON struct {
	Template    string            `json:"templateID"`
	Timeout     *int64            `json:"timeout"` // in seconds
	Metadata    map[string]string `json:"metadata"`
	Env         map[string]string `json:"envVars"`
	Internet    *bool             `json:"allow_internet_access"`
	Network     *networkJSON      `json:"network"`
	Volumes     []volumeMountJSON `json:"volumeMounts"`
	Pause       bool              `json:"autoPause"`
	PauseMemory *bool             `json:"autoPauseMemory"`
	AutoResume  *struct {
		Enabled bool `json:"enabled"`
	} `json:"autoResume"`
	// Secure is ignored: the inside of a sandbox always needs a token.
	Secure *bool           `json:"secure"`
	MCP    json.RawMessage `json:"mcp"`
	IAM    json.RawMessage `json:"iam"`
}

// templateNames are the packages' names of aibox's templates.
var templateNames = map[string]string{
	"":                    "",
	"base":                "code",
	"code-interpreter":    "code",
	"code-interpreter-v1": "code",
}

// templateName returns aibox's name of a template.
func templateName(name string) string {
	if known, ok := templateNames[name]; ok {
		return known
	}
	return name
}

// createSandbox creates a sandbox.
func (s *Server) createSandbox(w http.ResponseWriter, r *http.Request) error {
	var body newSandboxJSON
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	request, err := body.request()
	if err != nil {
		return err
	}
	snapshot, err := s.snapshotID(r.Context(), body.Template)
	if err != nil {
		return err
	}
	if snapshot != "" {
		continueFrom(snapshot, request)
	}
	made, err := s.backend.sandboxes.Create(r.Context(), connect.NewRequest(request))
	if err != nil {
		return err
	}
	writeJSON(w, http.StatusCreated, s.access(r, made.Msg))
	return nil
}

// request returns the request for aibox's API, or an error with the reason why there is none.
func (b *newSandboxJSON) request() (*aiboxv1.CreateSandboxRequest, error) {
	switch {
	case isGiven(b.MCP):
		return nil, &apiError{http.StatusNotImplemented, "aibox has no gateway to MCP servers in a sandbox: leave out mcp"}
	case isGiven(b.IAM):
		return nil, &apiError{http.StatusNotImplemented, "aibox issues no identity tokens: leave out iam"}
	case b.AutoResume != nil && b.AutoResume.Enabled:
		return nil, &apiError{http.StatusNotImplemented, "aibox resumes a paused sandbox only when a program connects to it: leave out autoResume"}
	case b.PauseMemory != nil && !*b.PauseMemory:
		return nil, errKeepsMemory
	}
	policy, err := networkPolicy(b.Internet, b.Network)
	if err != nil {
		return nil, err
	}
	request := &aiboxv1.CreateSandboxRequest{
		Template: templateName(b.Template), Metadata: b.Metadata, Env: b.Env, Network: policy,
		Timeout: durationpb.New(defaultTimeout * time.Second),
		// Programs expect to become root in the sandbox if they request it.
		Permissions: &aiboxv1.Permissions{Root: true},
	}
	if b.Timeout != nil {
		timeout, err := timeoutBody{Timeout: b.Timeout}.duration()
		if err != nil {
			return nil, err
		}
		request.Timeout = durationpb.New(timeout)
	}
	if b.Pause {
		request.OnTimeout = aiboxv1.OnTimeout_ON_TIMEOUT_PAUSE
	}
	for _, v := range b.Volumes {
		request.Volumes = append(request.Volumes, &aiboxv1.VolumeMount{Volume: v.Name, Path: v.Path})
	}
	return request, nil
}

// isGiven reports whether a field has a value.
func isGiven(field json.RawMessage) bool { return len(field) > 0 && string(field) != "null" }
