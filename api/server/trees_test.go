package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/auth"
)

// treeStore does not store trees. It reports the first byte of one.
type treeStore struct {
	aiboxv1connect.UnimplementedSessionsHandler

	begun chan string // the tenant
}

func (s *treeStore) AddTree(ctx context.Context, archive io.Reader) (*aiboxv1.Tree, error) {
	if _, err := io.ReadFull(archive, make([]byte, 1)); err != nil {
		return nil, err
	}
	s.begun <- string(auth.From(ctx).Tenant)
	_, err := io.Copy(io.Discard, archive)
	return &aiboxv1.Tree{TreeId: "tree"}, err
}

func TestATreeIsStoredWhileItIsUploaded(t *testing.T) {
	trees := &treeStore{begun: make(chan string, 1)}
	s := newSite(t, func(o *Options) { o.Services.Sessions = trees; o.Limits = Limits{Message: 1 << 10} })
	if got := s.request("POST", "/v1/trees", "x", bearer(s.token("a", "sessions"))); got.status != 403 {
		t.Errorf("without the right: %d %s", got.status, got.body)
	}
	body, upload := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), "POST", s.url+"/v1/trees", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.token("a"))
	answered := make(chan *http.Response, 1)
	go func() {
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
		}
		answered <- response
	}()
	if _, err := upload.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if tenant := <-trees.begun; tenant != "a" { // before the end of the upload
		t.Errorf("the tree belongs to %q", tenant)
	}
	if _, err := upload.Write(make([]byte, 1<<20)); err != nil { // much more than a message can have
		t.Fatal(err)
	}
	_ = upload.Close()
	response := <-answered
	if response == nil {
		return
	}
	defer response.Body.Close()
	if data, err := io.ReadAll(response.Body); response.StatusCode != 200 || !strings.Contains(string(data), `"tree"`) || err != nil {
		t.Errorf("%d %s: %v", response.StatusCode, data, err)
	}
}

// A process without a reader is ended after a while, and an archive can take longer.
func TestACopyIsReadWhileItsArchiveArrives(t *testing.T) {
	s := newSite(t, nil)
	id := s.sandbox("a")
	stream := aiboxv1connect.NewFilesClient(h2c(), s.url, connect.WithGRPC()).Upload(t.Context())
	stream.RequestHeader().Set("Authorization", "Bearer "+s.token("a"))
	_ = stream.Send(&aiboxv1.UploadFilesRequest{SandboxId: id, Path: "/x", Name: "f", Archive: &httpbody.HttpBody{Data: make([]byte, 1<<10)}})
	for begin := time.Now(); ; {
		p, err := s.m.program("00001-sandbox", 1)
		if err == nil && p.record.Idle().IsZero() {
			break
		}
		if time.Since(begin) > time.Minute {
			t.Fatalf("nothing reads the copy: %v", err)
		}
	}
	if _, err := stream.CloseAndReceive(); err != nil {
		t.Error(err)
	}
}

// A copy whose destination is denied can end before all of the archive is sent.
func TestAnUploadReportsWhyItsCopyEnded(t *testing.T) {
	s := newSite(t, nil)
	id := s.sandbox("a")
	stream := aiboxv1connect.NewFilesClient(http.DefaultClient, s.url).Upload(t.Context())
	stream.RequestHeader().Set("Authorization", "Bearer "+s.token("a"))
	first := &aiboxv1.UploadFilesRequest{SandboxId: id, Path: "/denied", Name: "f", Archive: &httpbody.HttpBody{Data: make([]byte, 1<<20)}}
	if err := stream.Send(first); err != nil {
		t.Fatal(err)
	}
	if _, err := stream.CloseAndReceive(); err == nil || !strings.Contains(err.Error(), "permission denied") {
		t.Errorf("the upload ends with %v", err)
	}
}
