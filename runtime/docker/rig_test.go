package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"testing"
	"time"

	"aibox/internal/lifeline"
	"aibox/netguard/rules"
	"aibox/runtime"
)

const lifelinePort = 11435

// rig is a real sandbox with the real init and its lifeline.
type rig struct {
	*lifeline.Conn
	t       testing.TB
	sandbox runtime.Sandbox
	network runtime.Network
	state   runtime.State
	hello   lifeline.Hello
	created time.Duration
	up      time.Duration
}

// programs are built once for each test, not for each sandbox.
type programs struct {
	backend *Backend
	pool    *Networks
	init    string
	image   runtime.ImageID
}

func prepare(t testing.TB) programs {
	t.Helper()
	b := open(t)
	id, err := b.Image(context.Background(), importImage(t, b, build(t, "./testdata/workload")))
	if err != nil {
		t.Fatal(err)
	}
	return programs{b, pool(t, b), build(t, "aibox/cmd/aibox-init"), id}
}

// boot does what the supervisor does: it makes a network, guards it, starts a sandbox,
// accepts its lifeline and closes the listener.
func (p programs) boot(t testing.TB, change func(*runtime.Spec)) *rig {
	t.Helper()
	ctx := context.Background()
	info, err := p.backend.Info(ctx)
	if err != nil {
		t.Fatal(err)
	}
	session := fmt.Sprintf("%s-%d-%d", prefix, os.Getpid(), time.Now().UnixNano()%1e6)
	network, err := p.pool.Acquire(ctx, session)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.pool.Release(ctx, network) })
	guard := rules.Client{Site: rules.Site{PID: info.Site.PID, NetNS: info.Site.NetNS}}
	sockets, err := guard.Guard(ctx, network.Bridge, rules.GuardRequest{TCP: []int{lifelinePort}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sockets.Close(); _ = guard.Release(ctx, network.Bridge) })
	refusing, stop := context.WithCancel(ctx)
	t.Cleanup(stop)
	go func() { _ = sockets.Refuse(refusing, nil) }()

	spec := runtime.Spec{
		Session: session, Image: p.image, Network: network, Init: p.init,
		InitArgs: []string{fmt.Sprintf("10.200.200.1:%d", lifelinePort)},
	}
	if change != nil {
		change(&spec)
	}
	r := &rig{t: t, network: network}
	begin := time.Now()
	if r.sandbox, err = p.backend.Create(ctx, spec); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.sandbox.Destroy(ctx); err != nil && !errors.Is(err, runtime.ErrDaemonLost) {
			t.Error(err)
		}
	})
	r.created = time.Since(begin)
	if err := r.sandbox.Start(ctx); err != nil {
		t.Fatal(err)
	}
	conn := accept(t, sockets.TCP[lifelinePort])
	r.Conn = lifeline.NewConn(conn)
	t.Cleanup(func() { _ = r.Close() })
	if r.hello, err = r.Hello(ctx); err != nil {
		t.Fatal(err)
	}
	r.up = time.Since(begin)
	if r.state, err = r.sandbox.State(ctx); err != nil {
		t.Fatal(err)
	}
	return r
}

// accept takes one connection within a minute.
func accept(t testing.TB, l net.Listener) net.Conn {
	t.Helper()
	timer := time.AfterFunc(time.Minute, func() { _ = l.Close() })
	defer timer.Stop()
	conn, err := l.Accept()
	if err != nil {
		t.Fatalf("the sandbox did not call: %v", err)
	}
	_ = l.Close()
	return conn
}

// ends waits until the sandbox process has ended.
func (r *rig) ends(t *testing.T) {
	t.Helper()
	if err := r.state.Process.AwaitEnd(time.Minute); err != nil {
		t.Fatal(err)
	}
}

// finish collects output until the exit.
func (r *rig) finish(on func(lifeline.Frame)) (out string, exit lifeline.Exit) {
	r.t.Helper()
	var text bytes.Buffer
	for {
		f, err := r.Receive()
		if err != nil {
			r.t.Fatalf("the lifeline ended before the exit: %v; so far: %s", err, text.String())
		}
		switch f.Type {
		case lifeline.TypeStdout, lifeline.TypeStderr, lifeline.TypeError:
			text.Write(f.Payload)
		case lifeline.TypeExit:
			if exit, err = lifeline.Decode[lifeline.Exit](f); err != nil {
				r.t.Fatal(err)
			}
			return text.String(), exit
		}
		if on != nil {
			on(f)
		}
	}
}

func (r *rig) run(s lifeline.Start) (string, lifeline.Exit) {
	r.t.Helper()
	if err := r.Start(s); err != nil {
		r.t.Fatal(err)
	}
	return r.finish(nil)
}
