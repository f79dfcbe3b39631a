package supervisor

import (
	"context"
	"errors"
	"net"
	"os/exec"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/runtime"
)

func TestAnAbandonedConnectionIsNotTheLifeline(t *testing.T) {
	listener := lineListener(t)
	call := func() net.Conn {
		conn, err := net.Dial("tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		return conn
	}
	if err := call().Close(); err != nil { // like PID 1 when it gives up a slow attempt
		t.Fatal(err)
	}
	container := lifeline.NewConn(call())
	defer container.Close()
	if err := container.SendMessage(lifeline.TypeHello, lifeline.Hello{Version: lifeline.Version, Kernel: "gVisor"}); err != nil {
		t.Fatal(err)
	}
	line, hello, err := new(sandbox).acceptLine(t.Context(), listener)
	if err != nil || hello.Kernel != "gVisor" {
		t.Fatalf("got %+v, %v", hello, err)
	}
	defer line.Close()
	if _, err := net.Dial("tcp", listener.Addr().String()); err == nil {
		t.Error("a second sandbox can call")
	}
}

func TestASandboxThatEndsBeforeItConnectsIsReportedAtOnce(t *testing.T) {
	listener := lineListener(t)
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	process, err := runtime.FindProcess(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	result := make(chan error, 1)
	go func() {
		_, _, err := new(sandbox).awaitLine(t.Context(), listener, func() (runtime.Process, error) { return process, nil })
		result <- err
	}()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if err := <-result; !errors.Is(err, errDied) {
		t.Errorf("got %v", err)
	}
}

func TestASandboxThatNeverConnectsIsReportedInOneSentence(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, _, err := new(sandbox).acceptLine(ctx, lineListener(t))
	if fault.KindOf(err) != fault.Environment || !strings.HasPrefix(err.Error(), "the sandbox did not connect within") || strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
}

func TestAStartThatIsCanceledDoesNotBlameTheSandbox(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := new(sandbox).acceptLine(ctx, lineListener(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func lineListener(t *testing.T) net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}
