package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"connectrpc.com/connect"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/aibox/v1/aiboxv1connect"
	"aibox/api/auth"
	"aibox/internal/files"
	"aibox/session"
)

// quiet is a folder in which nothing changes.
type quiet struct {
	noFiles

	ended chan struct{}
}

func (q quiet) Watch(ctx context.Context, _ files.Path, _ bool, watching func(), _ func(files.Event) error) error {
	defer close(q.ended)
	watching()
	<-ctx.Done()
	return ctx.Err()
}

// Otherwise a client could not notice that the server has vanished.
func TestAWatchOfAQuietFolderSendsKeepAliveEvents(t *testing.T) {
	s := newSite(t, nil)
	id, folder := s.sandbox("a"), quiet{ended: make(chan struct{})}
	_, handler := aiboxv1connect.NewFilesHandler(&fileService{
		sandboxes: s.m, open: func(context.Context, session.ID, string) Files { return folder }, alive: time.Millisecond,
	})
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r.WithContext(auth.With(r.Context(), auth.Caller{Tenant: "a"})))
	}))
	t.Cleanup(front.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := aiboxv1connect.NewFilesClient(front.Client(), front.URL).Watch(ctx, connect.NewRequest(&aiboxv1.WatchFilesRequest{SandboxId: id, Path: "/"}))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if !events.Receive() || events.Msg().GetType() != aiboxv1.FileEventType_FILE_EVENT_TYPE_UNSPECIFIED {
			t.Fatalf("%v, %v", events.Msg(), events.Err())
		}
	}
	_ = events.Close()
	<-folder.ended // the watch of a client that has gone
}
