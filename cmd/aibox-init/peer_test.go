package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"testing"

	"aibox/internal/lifeline"
)

const asInit = "AIBOX_TEST_AS_INIT"

// TestMain lets the test binary run as init: the tests start it, and init starts it again
// to launch the agent.
func TestMain(m *testing.M) {
	if os.Getenv(asInit) != "" || os.Args[0] == "aibox-init" || (len(os.Args) > 1 && os.Args[1] == launchCommand) {
		_ = os.Unsetenv(asInit)
		main()
	}
	if len(os.Args) > 1 && os.Args[1] == asWriter {
		writeAtPositions()
	}
	os.Exit(m.Run())
}

// peer is the supervisor's side of a started init.
type peer struct {
	*lifeline.Conn
	t    *testing.T
	init *exec.Cmd
}

// newPeer starts init as an ordinary process and accepts its lifeline.
func newPeer(t *testing.T) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return peerOn(t, listener)
}

// peerOn is newPeer for a lifeline to listener, which stays open.
func peerOn(t *testing.T, listener net.Listener) *peer {
	t.Helper()
	cmd := exec.Command(os.Args[0], listener.Addr().String())
	cmd.Env = []string{asInit + "=1", "HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "FROM_IMAGE=yes"}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{Conn: lifeline.NewConn(conn), t: t, init: cmd}
	t.Cleanup(func() {
		p.Close()
		_ = cmd.Wait()
	})
	if _, err := p.Hello(context.Background()); err != nil {
		t.Fatal(err)
	}
	return p
}

// outcome is everything received from a sandbox until its exit.
type outcome struct {
	stdout, stderr bytes.Buffer
	exit           lifeline.Exit
	errors         []string
	pid            int
}

// finish reads to the exit. on is called for every frame before it, if given.
func (p *peer) finish(on func(lifeline.Frame)) *outcome {
	p.t.Helper()
	o := &outcome{}
	for {
		f, err := p.Receive()
		if err != nil {
			p.t.Fatalf("the lifeline ended before the exit: %v", err)
		}
		switch f.Type {
		case lifeline.TypeStdout:
			o.stdout.Write(f.Payload)
		case lifeline.TypeStderr:
			o.stderr.Write(f.Payload)
		case lifeline.TypeStarted:
			o.pid = decode[lifeline.Started](p.t, f).PID
		case lifeline.TypeError:
			o.errors = append(o.errors, decode[lifeline.Error](p.t, f).Text)
		case lifeline.TypeExit:
			o.exit = decode[lifeline.Exit](p.t, f)
			return o
		}
		if on != nil {
			on(f)
		}
	}
}

func decode[T any](t *testing.T, f lifeline.Frame) T {
	t.Helper()
	v, err := lifeline.Decode[T](f)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func (p *peer) start(s lifeline.Start) {
	p.t.Helper()
	if err := p.Start(s); err != nil {
		p.t.Fatal(err)
	}
}

func shell(script string) lifeline.Start {
	return lifeline.Start{Argv: []string{"sh", "-c", script}, Dir: "/"}
}
