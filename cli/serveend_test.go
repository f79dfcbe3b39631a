package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// busyServer has one call until EndCalls.
type busyServer struct{ calls int }

func (s *busyServer) Calls() int { return s.calls }
func (s *busyServer) EndCalls()  { s.calls = 0 }

func TestASecondSignalEndsTheCallsThatTheServerWaitsFor(t *testing.T) {
	a, _, errOut := testApp(t)
	o := serveOptions{cli: a}
	signals := make(chan os.Signal, 1)
	signals <- unix.SIGTERM
	server := &busyServer{calls: 1}
	if o.hurry(t.Context(), server, signals); server.calls > 0 || !strings.Contains(errOut.String(), "press ctrl-c again to end them now") {
		t.Errorf("it has %d calls and prints %q", server.calls, errOut)
	}
}

func TestAServerWithoutCallsEndsWithoutAWord(t *testing.T) {
	a, _, errOut := testApp(t)
	o := serveOptions{cli: a}
	ctx, stop := context.WithCancel(t.Context())
	finish := o.watchEnd(ctx, &busyServer{})
	stop()
	if finish(); errOut.Len() > 0 {
		t.Errorf("it prints %q", errOut)
	}
}
