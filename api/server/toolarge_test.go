package server

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
)

// The kind limit means that the same call can succeed later.
func TestAMessageOfAStreamThatIsTooLargeIsNoLimitThatPasses(t *testing.T) {
	s := newSite(t, func(o *Options) { o.Limits.Message = 1 << 10 })
	stream := aiboxv1connect.NewFilesClient(http.DefaultClient, s.url).Write(t.Context())
	stream.RequestHeader().Set("Authorization", "Bearer "+s.token("a"))
	_ = stream.Send(&aiboxv1.WriteFileRequest{
		SandboxId: s.sandbox("a"), Path: "/x", Content: &httpbody.HttpBody{Data: []byte(strings.Repeat("x", 1<<12))},
	})
	_, err := stream.CloseAndReceive()
	failed, ok := errors.AsType[*connect.Error](err)
	if !ok || len(failed.Details()) != 1 {
		t.Fatal(err)
	}
	detail, err := failed.Details()[0].Value()
	if shown, ok := detail.(*aiboxv1.Error); err != nil || !ok || shown.Kind != "too_large" {
		t.Errorf("the error is %v, %v", detail, err)
	}
}
