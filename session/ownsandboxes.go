package session

import (
	"context"
	"errors"
	"time"

	"aibox/audit"
	"aibox/netguard"
	"aibox/runtime"
)

// An agent whose session permits it creates sandboxes of its own. They belong to a tenant that
// no token can have, live no longer than the session, and share its limits.

// Parent is the session whose agent created a sandbox.
type Parent struct {
	Session    ID              `json:"session"`
	Supervisor runtime.Process `json:"supervisor"` // the sandbox ends with it
	Sandbox    runtime.Process `json:"sandbox"`    // of the session, on the host; its processors are shared
}

// OwnTenant returns the tenant of the sandboxes that the agent of a session creates.
// ParseTenant refuses its name, so that nobody else can be that tenant.
func OwnTenant(id ID) Tenant { return Tenant(ownTenantPrefix + string(id)) }

const ownTenantPrefix = "session:"

// Check returns nil for a tenant of ParseTenant or OwnTenant.
func (t Tenant) Check() error {
	if len(t) > len(ownTenantPrefix) && t[:len(ownTenantPrefix)] == ownTenantPrefix {
		_, err := ParseID(string(t[len(ownTenantPrefix):]))
		return err
	}
	_, err := ParseTenant(string(t))
	return err
}

// ParentOf returns the session whose agent created a sandbox; empty if none did.
func (spec *Spec) ParentOf() ID {
	if spec.Sandbox == nil || spec.Sandbox.Parent == nil {
		return ""
	}
	return spec.Sandbox.Parent.Session
}

// OwnSandboxes is how many sandboxes the agent can have at once.
func (spec *Spec) OwnSandboxes() int {
	if spec.IsSandbox() || spec.Verifies != nil {
		return 0
	}
	return spec.Sandboxes
}

// TCPPorts returns the ports on netguard.Address that the session listens on.
func (spec *Spec) TCPPorts() []int {
	ports := spec.Mode().TCPPorts()
	if spec.OwnSandboxes() > 0 && ports != nil {
		ports = append(ports, netguard.PortSandboxes)
	}
	return ports
}

// ProcessShares divides the limit of processes between the agent's sandbox, which has own, and
// those that it creates, which have up to each. 0 means no limit.
func (spec *Spec) ProcessShares() (own, each int) {
	each = spec.Pids / (spec.OwnSandboxes() + 1)
	return spec.Pids - spec.OwnSandboxes()*each, each
}

// Share is the part of its session's limits that a sandbox of the agent's own takes while it
// runs, in bytes. 0 takes nothing.
type Share struct {
	Memory   int64
	Disk     int64
	Upload   int64 // to allowed hosts
	Download int64 // from them
}

// Host is a running session whose agent creates sandboxes. It is safe for concurrent use.
type Host interface {
	Spec() Spec
	Parent() Parent
	// Policy returns the network policy as it is now.
	Policy() netguard.Policy
	// TimeLeft returns the time until the session's limit; limited is false without one.
	TimeLeft() (left time.Duration, limited bool)
	// Lend takes a share from the session's limits. Where there is a limit, it gives at most the
	// requested amount, never 0, and less traffic if less is left. A share that does not fit is
	// a Limit fault. giveBack returns the unused part of the share; only its first call
	// counts.
	Lend(want Share) (granted Share, giveBack func(spent Share), err error)
	// Record logs an event.
	Record(kind audit.Type, data any)
	// NoteActivity notes that the agent is at work.
	NoteActivity()
}

// endOwnSandboxes ends the sandboxes that the agent of a dead session created. They end by
// themselves when its supervisor dies, unless something keeps theirs from that.
func (s *repairs) endOwnSandboxes(ctx context.Context, parent *Session) error {
	if parent.OwnSandboxes() == 0 {
		return nil
	}
	all, err := s.Sandboxes(OwnTenant(parent.ID))
	for i := range all {
		if all[i].State.Phase != Ended {
			_, killErr := s.Kill(ctx, all[i].ID, "its session has ended")
			err = errors.Join(err, killErr)
		}
	}
	return err
}

// OwnSandbox is the data of the events about a sandbox that the agent creates.
type OwnSandbox struct {
	Sandbox   ID       `json:"sandbox,omitempty"`
	Template  string   `json:"template,omitempty"`
	Network   string   `json:"network,omitempty"`
	Allow     []string `json:"allow,omitempty"`
	Memory    int64    `json:"memory,omitempty"` // bytes
	Processes int      `json:"processes,omitempty"`
	Reason    string   `json:"reason,omitempty"` // of a refusal, or of the end
}
