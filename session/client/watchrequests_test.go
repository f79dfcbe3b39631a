package client

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"testing"
	"time"
)

func TestTheWatchOfAllRequestsEndsWhenSessionsCannotBeListed(t *testing.T) {
	s, _, listener := supervised(t)
	watched := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte("[]\n"))
		_ = http.NewResponseController(w).Flush()
		close(watched)
		<-r.Context().Done()
	}), ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
	ended := make(chan error, 1)
	go func() { ended <- s.WatchAllRequests(t.Context()) }()
	<-watched
	if err := os.Chmod(s.store.Root(), 0o300); err != nil { // its sessions remain reachable
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(s.store.Root(), 0o700) })
	select {
	case err := <-ended:
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it still watches the running session, and no new one")
	}
}
