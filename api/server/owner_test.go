package server

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/peer/peertest"
)

func TestMain(m *testing.M) { peertest.Main(m) }

// Other users are kept out even if the socket's mode permits them.
func TestAnotherUserGetsNoAnswerFromTheUnixSocket(t *testing.T) {
	s := newSite(t, nil)
	path := filepath.Join(t.TempDir(), "api", "x.sock")
	listener, unlock, err := ListenUnix(path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listener, nil, 0) }()
	if got := peertest.DialUnix(t, path); got != "" && !strings.Contains(got, "reset") {
		t.Errorf("another user received %q", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
