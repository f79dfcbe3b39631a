package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/runtime"
	"aibox/session/ports"
)

// callTimeout is how long a sandbox has to start and to connect to its supervisor. On an
// overloaded machine this has taken 20 seconds.
const callTimeout = 40 * time.Second

// errDied is the error of a sandbox whose process ended before it connected.
var errDied = fault.New(fault.Environment, "the sandbox ended before it connected")

// awaitLine waits for the sandbox to connect, as long as its process lives.
func (s *sandbox) awaitLine(ctx context.Context, listener net.Listener, started func() (runtime.Process, error)) (*lifeline.Conn, lifeline.Hello, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	go func() {
		if process, err := started(); err == nil && process.AwaitEndOr(ctx) == nil {
			end(errDied)
		}
	}()
	return s.acceptLine(ctx, listener)
}

// acceptLine waits for the sandbox to connect and send its hello, then pauses the
// listener. On a slow machine PID 1 gives up an attempt that took too long and connects
// again, so more connections can follow one that ends without a hello.
func (s *sandbox) acceptLine(ctx context.Context, listener net.Listener) (*lifeline.Conn, lifeline.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	defer ports.Pause(listener)
	for {
		raw, err := listener.Accept()
		switch cause := context.Cause(ctx); {
		case err == nil:
		case errors.Is(cause, context.DeadlineExceeded):
			return nil, lifeline.Hello{}, fault.New(fault.Environment, "the sandbox did not connect within %v", callTimeout).
				Hint("if other programs keep this machine busy, start fewer sessions at once: --max-parallel")
		default:
			return nil, lifeline.Hello{}, cmp.Or(cause, err)
		}
		conn := lifeline.NewConn(raw)
		hello, err := conn.Hello(ctx)
		if err == nil {
			err = s.checkProof(hello)
		}
		if err == nil {
			return conn, hello, nil
		}
		_ = conn.Close()
		if !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			return nil, lifeline.Hello{}, fmt.Errorf("waiting for the sandbox's first message: %w", err)
		}
	}
}

// sandboxFailure describes what the daemon knows about a sandbox that did not connect.
func sandboxFailure(ctx context.Context, container runtime.Sandbox) error {
	state, err := container.State(ctx)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("Docker reports it as %s", state.Status)
	if state.Status == runtime.Exited {
		text += fmt.Sprintf(" with exit code %d", state.ExitCode)
	}
	if state.Message != "" {
		text += ": " + state.Message
	}
	return fault.New(fault.Environment, "%s", text).Hint("`aibox doctor` checks Docker and runsc")
}
