package session

import (
	"time"

	"aibox/audit"
	"aibox/netguard"
	"aibox/runtime"
)

// If a session permits it, its agent can create sandboxes. They belong to a tenant that no
// token can have, end with the session at the latest, and share its limits.

// Parent is the session whose agent created a sandbox.
type Parent struct {
	Session    ID              `json:"session"`
	Supervisor runtime.Process `json:"supervisor"` // the sandbox ends with it
	Sandbox    runtime.Process `json:"sandbox"`    // sandbox of the session, on the host; its processors are shared
}

// OwnTenant returns the tenant of the sandboxes that the agent of a session creates.
// ParseTenant refuses its name, so that no token can be for that tenant.
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

// ParentOf returns the session whose agent created a sandbox; empty if there is none.
func (spec *Spec) ParentOf() ID {
	if spec.Sandbox == nil || spec.Sandbox.Parent == nil {
		return ""
	}
	return spec.Sandbox.Parent.Session
}

// OwnSandboxes is the maximum number of sandboxes that the agent can have at once.
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

// ProcessShares divides the limit of processes between the agent's sandbox, which gets own,
// and those that it creates, which get at most each. 0 means no limit.
func (spec *Spec) ProcessShares() (own, each int) {
	each = spec.Pids / (spec.OwnSandboxes() + 1)
	return spec.Pids - spec.OwnSandboxes()*each, each
}

// Share is the part of its session's limits that a sandbox created by the agent uses while
// it runs, in bytes. 0 means none.
type Share struct {
	Memory int64
	Disk   int64
	netguard.Traffic
}

// Host is a running session whose agent creates sandboxes. It is safe for concurrent use.
type Host interface {
	Spec() Spec
	Parent() Parent
	// Policy returns the current network policy.
	Policy() netguard.Policy
	// TimeLeft returns the time until the session's limit; limited is false without one.
	TimeLeft() (left time.Duration, limited bool)
	// Lend takes a share from the session's limits. If there is a limit, it gives at most the
	// requested amount, never 0, and less traffic if less is left. If the share exceeds the
	// limits, the error is a Limit fault. giveBack returns the unused part of the share; only
	// its first call counts.
	Lend(want Share) (granted Share, giveBack func(spent Share), err error)
	// Record logs an event.
	Record(kind audit.Type, data any)
	// NoteActivity records that the agent is active.
	NoteActivity()
}

// OwnSandbox is the data of the events about a sandbox that the agent creates.
type OwnSandbox struct {
	Sandbox   ID       `json:"sandbox,omitempty"`
	Template  string   `json:"template,omitempty"`
	Network   string   `json:"network,omitempty"`
	Allow     []string `json:"allow,omitempty"`
	Memory    int64    `json:"memory,omitempty"` // bytes
	Processes int      `json:"processes,omitempty"`
	Reason    string   `json:"reason,omitempty"` // reason of a refusal or of the end
}
