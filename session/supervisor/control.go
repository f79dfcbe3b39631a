package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/relay"
	"aibox/session/control"
	"aibox/session/output"
	"aibox/session/ports"
)

// startControl opens the control socket.
func (s *supervisor) startControl() (*http.Server, error) {
	listener, err := control.Listen(s.dir)
	if err != nil {
		return nil, fmt.Errorf("opening the control socket: %w", err)
	}
	server := control.Serve(listener, s)
	s.onUndo(func(context.Context) error { return server.Close() })
	return server, nil
}

// shutdown lets clients finish reading and closes the server.
func shutdown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close()
	}
}

func (s *supervisor) Follow(ctx context.Context, from int64, visit func(output.Chunk) error) error {
	s.notifier.followers.Add(1)
	defer s.notifier.followers.Add(-1)
	return s.record.Follow(ctx, s.dir, from, visit)
}

func (s *supervisor) Snapshot() any { return s.state() }

func (s *supervisor) Terminal() control.Terminal {
	if s.term == nil {
		return nil
	}
	return s.term
}

func (s *supervisor) Ports(ctx context.Context) ([]ports.Listening, error) {
	return s.ports.listening(ctx)
}

func (s *supervisor) OpenPort(ctx context.Context, r ports.Request) (func(func(ports.Update) error) error, error) {
	return s.ports.offer(ctx, r)
}

func (s *supervisor) DialPort(ctx context.Context, port uint16) (func(client relay.Conn), error) {
	return s.ports.dialed.dial(ctx, port)
}

func (s *supervisor) Processes() control.Processes { return s.processes }

func (s *supervisor) Files() control.Files { return s.files }

func (s *supervisor) Stop(reason string, grace time.Duration) {
	s.audit(audit.StopRequested, map[string]string{"reason": reason})
	s.stopVerify()
	s.endWithin(fault.New(fault.Interrupted, "stopped: %s", reason), min(grace, maxGrace))
}

func (s *supervisor) Signal(number int) error {
	s.mu.Lock()
	line, verifying := s.line, s.verifying
	s.mu.Unlock()
	if verifying != nil {
		return s.signalVerification(verifying, number)
	}
	if line == nil {
		return errors.New("the agent does not run yet")
	}
	if number < 1 || number > int(syscall.SIGSYS) {
		return fmt.Errorf("%d is not a signal", number)
	}
	if number == int(syscall.SIGINT) {
		s.noteInterrupt() // before the rest, since the agent may end at once
	}
	return line.Signal(number)
}
