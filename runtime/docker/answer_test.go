package docker

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/client"

	"aibox/internal/fault"
	"aibox/runtime"
)

// hanging returns a daemon that answers no call.
func hanging(t *testing.T) *Backend {
	t.Helper()
	over := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-over }))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(over) })
	api, err := client.NewClientWithOpts(client.WithHost("tcp://"+server.Listener.Addr().String()), client.WithVersion("1.41"))
	if err != nil {
		t.Fatal(err)
	}
	return &Backend{api: api, limit: 50 * time.Millisecond, asking: make(chan struct{}, 1)}
}

// The sandbox's process can be dead by then, and the session's work can be reviewed only at its end.
func TestADaemonThatHangsDoesNotHoldUpASession(t *testing.T) {
	b := hanging(t)
	one := &sandbox{backend: b, api: b.api, id: "0"}
	networks := newNetworks(b, Options{Leases: t.TempDir()})
	other := newNetworks(b, Options{Leases: t.TempDir()})
	creating, err := other.lease("pool") // as another process that creates a network has it
	if err != nil {
		t.Fatal(err)
	}
	defer creating.release()
	pool := []runtime.Network{{ID: "1", Bridge: "aibox-1"}}
	for name, call := range map[string]func(context.Context) error{
		"connect": b.checkVersion,
		"info":    func(ctx context.Context) error { _, err := b.Info(ctx); return err },
		"list":    func(ctx context.Context) error { _, err := b.Sandboxes(ctx); return err },
		"start":   one.Start,
		"state":   func(ctx context.Context) error { _, err := one.State(ctx); return err },
		"pause":   one.Pause,
		"resume":  one.Resume,
		"destroy": one.Destroy,
		"image":   func(ctx context.Context) error { _, err := b.Image(ctx, "debian:13"); return err },
		"volumes": func(ctx context.Context) error { _, err := b.volumes(ctx, runtime.Spec{Image: "0"}); return err },
		"acquire": func(ctx context.Context) error { _, err := networks.Acquire(ctx, "0abc-shell"); return err },
		"take":    func(ctx context.Context) error { _, _, _, err := networks.free(ctx, pool); return err },
		"make":    func(ctx context.Context) error { _, _, err := networks.make(ctx); return err },
		"create":  func(ctx context.Context) error { _, err := networks.create(ctx, "aibox-2", defaultPool); return err },
		"wait":    func(ctx context.Context) error { _, _, err := other.make(ctx); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := call(ctx)
		if ctx.Err() != nil || fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "no answer") || errors.Is(err, runtime.ErrDaemonLost) {
			t.Errorf("%s ends with %v", name, err)
		}
		cancel()
	}
}

func TestACallThatWaitsForTheAnswerToAnotherOneCanBeCanceled(t *testing.T) {
	b := hanging(t)
	b.limit = time.Hour
	first, cancelFirst := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _, _ = b.Info(first) }()
	for len(b.asking) == 0 { // the first call has begun
		select {
		case <-done:
			t.Fatal("the first call has ended")
		default:
		}
	}
	second, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.Info(second); !errors.Is(err, context.Canceled) {
		t.Errorf("the second call ends with %v", err)
	}
	cancelFirst()
	<-done
}
