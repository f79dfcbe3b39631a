package supervisor

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"aibox/agents"
	"aibox/audit"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/session"
)

// OwnSandboxes serves the sandboxes that a session's agent creates. It is safe for concurrent
// use.
type OwnSandboxes interface {
	// Serve serves the agent's sandbox on listener until ctx ends. It closes the listener.
	Serve(ctx context.Context, listener net.Listener) error
	// Narrow applies a change of the session's network policy to the sandboxes. A sandbox
	// whose policy cannot be changed is ended.
	Narrow(ctx context.Context)
	// End ends all sandboxes, including those that are being started, and returns when they
	// have ended. No more can be created afterwards.
	End(ctx context.Context) error
}

// Time limits for these steps.
const (
	narrowTimeout = 10 * time.Second
	ownEndTimeout = 30 * time.Second
)

// ownSandboxes are the sandboxes of a session's agent. It is their session.Host.
type ownSandboxes struct {
	*limits
	server OwnSandboxes // nil until it serves
}

// newOwnSandboxes allows the agent of a session to create sandboxes, if its settings permit
// that.
func newOwnSandboxes(bounds *limits) *ownSandboxes {
	s := &ownSandboxes{limits: bounds}
	bounds.serveOwn = s.serveAgent
	return s
}

// serveAgent is sandbox.serveOwn.
func (s *ownSandboxes) serveAgent(ctx context.Context, listener net.Listener) error {
	if s.deps.OwnSandboxes == nil || listener == nil {
		return errors.New("nothing serves the agent's own sandboxes") // in a test, or after a mistake in the wiring
	}
	server, err := s.deps.OwnSandboxes(s)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	s.mu.Lock()
	s.server = server
	s.mu.Unlock()
	s.policy.mu.Lock()
	s.policy.narrow = s.narrow
	s.policy.mu.Unlock()
	return server.Serve(ctx, listener)
}

// served returns the server, or nil.
func (s *ownSandboxes) served() OwnSandboxes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server
}

func (s *ownSandboxes) narrow() {
	ctx, cancel := context.WithTimeout(context.Background(), narrowTimeout)
	defer cancel()
	s.served().Narrow(ctx)
}

// end ends the sandboxes. A sandbox that cannot be ended ends with this process.
func (s *ownSandboxes) end(ctx context.Context) {
	server := s.served()
	if server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, ownEndTimeout)
	defer cancel()
	if err := server.End(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "ending the agent's own sandboxes:", err)
	}
}

// Spec implements session.Host.
func (s *ownSandboxes) Spec() session.Spec { return s.launch.Spec }

// Parent implements session.Host.
func (s *ownSandboxes) Parent() session.Parent {
	state := s.state()
	return session.Parent{Session: s.id, Supervisor: state.Supervisor, Sandbox: state.Sandbox}
}

// Policy implements session.Host.
func (s *ownSandboxes) Policy() netguard.Policy {
	s.policy.mu.Lock()
	defer s.policy.mu.Unlock()
	return s.policy.rules
}

// TimeLeft implements session.Host.
func (s *ownSandboxes) TimeLeft() (left time.Duration, limited bool) {
	end := s.timeLimit.deadline()
	return time.Until(end), !end.IsZero()
}

// Record implements session.Host.
func (s *ownSandboxes) Record(kind audit.Type, data any) { s.audit(kind, data) }

// NoteActivity implements session.Host.
func (s *ownSandboxes) NoteActivity() { s.noteActivity() }

// followParent ends a sandbox that the agent of another session created as soon as the
// supervisor of that session has ended for any reason.
func (s *run) followParent(ctx context.Context) {
	spec := s.launch.Spec.Sandbox
	if spec == nil || spec.Parent == nil {
		return
	}
	err := spec.Parent.Supervisor.AwaitEndOr(ctx)
	switch {
	case ctx.Err() != nil:
	case err != nil && !errors.Is(err, runtime.ErrGone):
		s.end(fault.New(fault.Environment, "the supervisor of %s cannot be watched, so its sandbox was ended: %w", spec.Parent.Session, err))
	default:
		s.end(fault.New(fault.Interrupted, "the session %s that created the sandbox has ended", spec.Parent.Session))
	}
}

// mcpURL is the address of the server through which the agent creates sandboxes.
func mcpURL() string {
	return "http://" + net.JoinHostPort(netguard.Address().String(), strconv.Itoa(netguard.PortSandboxes)) + "/mcp"
}

// ownSandboxesEnv returns the variable that names the server, for agents and commands
// without a setting for it.
func ownSandboxesEnv(spec *session.Spec) []string {
	if spec.OwnSandboxes() == 0 {
		return nil
	}
	return []string{"AIBOX_MCP_URL=" + mcpURL()}
}

// ownServers returns the server for the agent's own settings.
func ownServers(spec *session.Spec) []agents.MCPServer {
	if spec.OwnSandboxes() == 0 {
		return nil
	}
	return []agents.MCPServer{{Name: "aibox", URL: mcpURL()}}
}
