package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/internal/files"
	"aibox/session"
)

// reading reads everything that is written.
type reading struct{ noFiles }

func (reading) Write(_ context.Context, path files.Path, in io.Reader, _ files.WriteOptions) (files.Entry, error) {
	n, err := io.Copy(io.Discard, in)
	return files.Entry{Path: path, Size: n}, err
}

func TestTheMessagesOfATenantTakeABoundedAmountOfMemory(t *testing.T) {
	const most, large = 1 << 20, 256 << 10
	s := newSite(t, func(o *Options) {
		o.Limits = Limits{TenantMessages: most}
		o.Services.Files = func(context.Context, session.ID, string) Files { return reading{} }
	})
	tokens := map[session.Tenant]string{"a": s.token("a"), "b": s.token("b")}
	ids := map[session.Tenant]string{"a": s.sandbox("a"), "b": s.sandbox("b")}
	stdin := make([]byte, large)
	text := fmt.Sprintf(`{"argv":["true"],"stdin":%q}`, strings.Repeat("A", large))
	// settle waits for the ends of calls that are answered.
	settle := func() {
		for running := 1; running > 0; runtime.Gosched() {
			s.Server.calls.mu.Lock()
			running = s.Server.calls.all
			s.Server.calls.mu.Unlock()
		}
	}
	exec := func(tenant session.Tenant, options ...connect.ClientOption) error {
		defer settle()
		client := aiboxv1connect.NewProcessesClient(http.DefaultClient, s.url, append(options, tokenOf(tokens[tenant]))...)
		_, err := client.Exec(t.Context(), connect.NewRequest(&aiboxv1.ExecRequest{SandboxId: ids[tenant], Argv: []string{"true"}, Stdin: stdin}))
		return err
	}
	upload := func(pieces int, options ...connect.ClientOption) error {
		defer settle()
		out := aiboxv1connect.NewFilesClient(http.DefaultClient, s.url, options...).Write(t.Context())
		out.RequestHeader().Set("Authorization", "Bearer "+tokens["a"])
		for range pieces {
			if err := out.Send(&aiboxv1.WriteFileRequest{SandboxId: ids["a"], Path: "/x", Content: &httpbody.HttpBody{Data: stdin}}); err != nil {
				break // CloseAndReceive has the reason
			}
		}
		_, err := out.CloseAndReceive()
		return err
	}
	others := s.messages.Call("a") // the tenant's other calls
	check := func(fits bool) {
		t.Helper()
		gzip, grpc := connect.WithClientOptions(connect.WithSendGzip()), connect.WithGRPCWeb()
		for name, err := range map[string]error{
			"Connect": exec("a"), "compressed": exec("a", gzip), "gRPC-Web": exec("a", grpc), "a stream": upload(1), "a long stream": upload(8), "a compressed stream": upload(1, gzip),
		} {
			var known *connect.Error
			isLimit := errors.As(err, &known) && known.Code() == connect.CodeResourceExhausted && strings.HasPrefix(known.Message(), "the messages that the tenant receives at once would have more than 1 MiB")
			if fits && err != nil || !fits && !isLimit {
				t.Errorf("%s, which should fit %v: %v", name, fits, err)
			}
		}
		got := s.request("POST", "/v1/sandboxes/"+ids["a"]+":exec", text, bearer(tokens["a"]))
		if fits && got.status != http.StatusOK || !fits && (got.status != http.StatusTooManyRequests || !strings.Contains(got.body, "try again when other calls have ended")) {
			t.Errorf("REST, which should fit %v: %d %s", fits, got.status, got.body)
		}
		settle()
	}
	check(true)
	if err := others.Reserve(most - large/2); err != nil {
		t.Fatalf("earlier calls still count: %v", err)
	}
	check(false)
	// What has arrived counts, also if the rest never comes.
	part := fmt.Sprintf("POST /v1/sandboxes HTTP/1.1\r\nHost: 127.0.0.1\r\n%s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", bearer(tokens["a"]), 2*large, text)
	if got := s.answerTo(part); got.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a part of a message: %s", got.Status)
	}
	if err := exec("b"); err != nil {
		t.Errorf("another tenant: %v", err)
	}
	others.Release()
	check(true)
}
