package supervisor

import (
	"context"
	"encoding/json"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/control"
)

// sandboxControl changes a session that is a sandbox.
type sandboxControl struct{ *supervisor }

// Sandbox returns the control of the session if it is a sandbox, or nil.
func (s *supervisor) Sandbox() control.Sandbox {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.launch.Spec.IsSandbox() {
		return nil
	}
	return sandboxControl{s}
}

func (c sandboxControl) Update(data json.RawMessage) error {
	var change session.SandboxChange
	if err := json.Unmarshal(data, &change); err != nil {
		return fault.New(fault.Usage, "the change of the sandbox cannot be read: %w", err)
	}
	if change.IdleTimeout != nil {
		if err := checkIdleTimeout(*change.IdleTimeout); err != nil { // before anything is changed
			return err
		}
	}
	if change.Timeout != nil {
		if err := c.setTimeout(*change.Timeout); err != nil {
			return err
		}
	}
	if change.IdleTimeout != nil {
		if err := c.setIdleTimeout(*change.IdleTimeout); err != nil {
			return err
		}
	}
	if change.Name == nil && change.Metadata == nil {
		return nil
	}
	return c.save(func(st *session.State) {
		now := session.Session{Spec: c.launch.Spec, State: *st}
		labels := now.Labels()
		if change.Name != nil {
			labels.Name = *change.Name
		}
		if change.Metadata != nil {
			labels.Metadata = *change.Metadata
		}
		st.Labels = &labels
	})
}

func (c sandboxControl) SetNetwork(data json.RawMessage, reason string) error {
	var lists session.NetworkLists
	if err := json.Unmarshal(data, &lists); err != nil {
		return fault.New(fault.Usage, "the lists of the network policy cannot be read: %w", err)
	}
	return c.supervisor.policy.setLists(lists, reason)
}

func (c sandboxControl) Pause(ctx context.Context) error {
	if err := c.awaitWatch(ctx); err != nil {
		return err
	}
	return c.pauser.pause(ctx)
}

func (c sandboxControl) Resume(ctx context.Context) error { return c.pauser.resume(ctx) }

// awaitWatch waits until a running sandbox is watched, which happens shortly after its
// creator is notified.
func (c sandboxControl) awaitWatch(ctx context.Context) error {
	if c.state().Phase != session.Running {
		return nil // the caller refuses it
	}
	select {
	case <-c.pauser.started:
	case <-c.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (c sandboxControl) Claim(ctx context.Context, data json.RawMessage) error {
	var claim session.Claim
	if err := json.Unmarshal(data, &claim); err != nil {
		return fault.New(fault.Usage, "the claim cannot be read: %w", err)
	}
	return c.warm.claim(ctx, claim)
}
