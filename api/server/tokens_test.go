package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/auth"
	"aibox/session/process"
)

// failing are tokens whose database can fail.
type failing struct {
	Tokens

	failed atomic.Bool
}

var errDisk = errors.New("disk I/O error of /home/user/aibox.db")

func (f *failing) Authenticate(ctx context.Context, token string) (auth.Caller, error) {
	if f.failed.Load() {
		return auth.Caller{}, errDisk
	}
	return f.Tokens.Authenticate(ctx, token)
}

func (f *failing) Caller(ctx context.Context, id string) (auth.Caller, error) {
	if f.failed.Load() {
		return auth.Caller{}, errDisk
	}
	return f.Tokens.Caller(ctx, id)
}

// A program that takes its token for a revoked one does not try again.
func TestADatabaseThatFailsDoesNotMakeTokensInvalid(t *testing.T) {
	tokens := &failing{}
	s := newPortSite(t, hello, func(o *Options) { tokens.Tokens, o.Tokens = o.Tokens, tokens })
	s.recheck = time.Millisecond
	id, token := s.sandbox("a"), s.token("a")
	signed := s.request("POST", "/aibox.v1.Ports/Sign", `{"sandbox_id":"`+id+`","port":3000}`, bearer(token)).body
	_, grant, _ := strings.Cut(strings.TrimSuffix(signed[:strings.Index(signed, `",`)], `"`), "?")
	if _, err := s.m.StartProcess(t.Context(), "00001-sandbox", process.Request{Argv: []string{"wait"}}); err != nil {
		t.Fatal(err)
	}
	stream, err := aiboxv1connect.NewProcessesClient(http.DefaultClient, s.url).Connect(t.Context(), withToken(&aiboxv1.ConnectProcessRequest{SandboxId: id, ProcessId: 1}, token))
	if err != nil || !stream.Receive() {
		t.Fatal(err)
	}
	defer stream.Close()
	tokens.failed.Store(true)
	port := "/v1/sandboxes/" + id + "/ports/3000/"
	for name, got := range map[string]answer{
		"REST":                  s.request("GET", "/v1/sandboxes/"+id, "", bearer(token)),
		"Connect":               s.request("POST", "/aibox.v1.Sandboxes/List", "{}", bearer(token)),
		"a port":                s.request("GET", port, "", bearer(token)),
		"a signed URL":          s.request("GET", port+"?"+grant, ""),
		"a WebSocket's request": s.request("GET", "/v1/sandboxes/"+id+"/processes/1/ws", "", bearer(token)),
	} {
		if got.status != http.StatusServiceUnavailable || !strings.Contains(got.body, "cannot be checked") || strings.Contains(got.body, "disk") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
	for stream.Receive() {
	}
	if err := stream.Err(); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Errorf("a running call: %v", err)
	}
	if got := s.request("GET", "/v1/sandboxes/"+id, "", bearer("aibox_"+strings.Repeat("A", 43))); got.status != http.StatusServiceUnavailable {
		t.Errorf("another token: %d %s", got.status, got.body)
	}
	tokens.failed.Store(false)
	if got := s.request("GET", port, "", bearer(token)); got.status != http.StatusOK {
		t.Errorf("the database works again: %d %s", got.status, got.body)
	}
}

func withToken[T any](m *T, token string) *connect.Request[T] {
	r := connect.NewRequest(m)
	r.Header().Set("Authorization", "Bearer "+token)
	return r
}
