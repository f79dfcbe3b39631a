package session

import (
	"strings"
	"time"

	"aibox/internal/fault"
)

// SandboxAgent is the agent's name in the record of a sandbox, which has no agent.
const SandboxAgent = "sandbox"

// SandboxSpec describes a session that is a sandbox: it has no agent, no repository and no
// review, and lives until its timeout or until it is destroyed. Everything else, such as
// the network, the limits, the probes and the log, is the same as in every session.
type SandboxSpec struct {
	Tenant      Tenant        `json:"tenant"`
	Labels                    // labels at the creation; see Session.Labels
	Template    string        `json:"template"`
	User        string        `json:"user"`          // user of processes without an own one
	Dir         string        `json:"dir,omitempty"` // working folder of processes; empty means the user's home
	Volumes     []VolumeMount `json:"volumes,omitempty"`
	Permissions Permissions   `json:"permissions,omitzero"`
	OnTimeout   OnTimeout     `json:"on_timeout,omitempty"`
	Services    []Service     `json:"services,omitempty"` // services that the template starts
	// Denied are entries of the deny list that no change of the network removes: those of the
	// machine's user and of the tenant's defaults.
	Denied []string `json:"denied,omitempty"`
	// Snapshot is the id of the tenant's snapshot from which it continues; empty if there is
	// none.
	Snapshot string     `json:"snapshot,omitempty"`
	Warm     *WarmStart `json:"warm,omitempty"` // set while it waits for a claim; nil when it belongs to a tenant
	// Claimed reports that the sandbox was warm and was then claimed by its tenant.
	Claimed bool `json:"claimed,omitempty"`
	// Parent is the session whose agent created the sandbox; nil if there is none.
	Parent *Parent `json:"parent,omitempty"`
}

// Labels are the caller's name and metadata for a sandbox. aibox does not interpret them.
type Labels struct {
	Name     string            `json:"name,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

// Labels returns the current name and metadata of a sandbox.
func (s *Session) Labels() Labels {
	switch {
	case s.State.Labels != nil:
		return *s.State.Labels
	case s.Sandbox != nil:
		return s.Sandbox.Labels
	default:
		return Labels{}
	}
}

// IdleLimit returns the current limit of the session's idle time; 0 means no limit.
func (s *Session) IdleLimit() time.Duration {
	if s.State.IdleTimeout != nil {
		return *s.State.IdleTimeout
	}
	return time.Duration(s.IdleTimeout)
}

// Service is a program that a template starts in each of its sandboxes, as the sandbox's
// user and in the sandbox's working folder.
type Service struct {
	Argv []string `json:"argv"`
	// Port is the port on which the program listens when it is ready; 0 means that it is ready
	// as soon as it runs.
	Port    int           `json:"port,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // time limit for becoming ready
}

// SandboxChange has the new values of an update of a running sandbox. Nil leaves a value
// unchanged.
type SandboxChange struct {
	// Name and Metadata are changed each on its own, so that concurrent changes do not undo one
	// another. A Metadata that is not nil must not be a nil map, which JSON cannot tell apart.
	Name     *string            `json:"name,omitempty"`
	Metadata *map[string]string `json:"metadata,omitempty"`
	// Timeout is the time from now on after which the sandbox ends; 0 means never.
	Timeout *time.Duration `json:"timeout,omitempty"`
	// IdleTimeout is the time without activity, from now on, after which the sandbox ends; 0
	// means never.
	IdleTimeout *time.Duration `json:"idle_timeout,omitempty"`
}

// VolumeMount mounts a volume of the tenant in the sandbox.
type VolumeMount struct {
	Volume   string `json:"volume"` // the name of the volume
	Path     string `json:"path"`   // absolute path of the mount in the sandbox
	ReadOnly bool   `json:"read_only,omitempty"`
}

// OnTimeout is the action at the end of a sandbox's time. The zero value is Destroy.
type OnTimeout string

// The actions at the end of the time.
const (
	Destroy OnTimeout = ""
	Pause   OnTimeout = "pause" // the sandbox is paused, and can be resumed
)

// ParseOnTimeout parses "destroy", which can also be empty, and "pause".
func ParseOnTimeout(text string) (OnTimeout, error) {
	switch text {
	case "", "destroy":
		return Destroy, nil
	case string(Pause):
		return Pause, nil
	default:
		return "", fault.New(fault.Usage, "at its timeout a sandbox is destroyed or paused, not %q", text).Hint("use destroy or pause")
	}
}

// String returns "destroy" or "pause".
func (o OnTimeout) String() string {
	if o == Destroy {
		return "destroy"
	}
	return string(o)
}

// Tenant is the owner of sandboxes and volumes. ParseTenant creates it from text.
type Tenant string

// LocalTenant is the user of this machine, by the command line or the Unix socket.
const LocalTenant Tenant = "local"

// ParseTenant checks the name of a tenant.
func ParseTenant(text string) (Tenant, error) {
	if !IsName(text) {
		return "", fault.New(fault.Usage, "%q is not the name of a tenant", text).
			Hint("a name has up to 63 lowercase letters, digits and hyphens, and begins with a letter or a digit")
	}
	return Tenant(text), nil
}

// IsName reports whether text can name a tenant, a volume or a template. It can be the name
// of a file.
func IsName(text string) bool {
	return text != "" && len(text) <= 63 && text[0] != '-' &&
		strings.Trim(text, "0123456789abcdefghijklmnopqrstuvwxyz-") == ""
}

// OwnedBy reports whether the session is a sandbox of the tenant. A warm sandbox belongs to
// none.
func (s *Session) OwnedBy(tenant Tenant) bool {
	return tenant != "" && s.Sandbox != nil && s.Sandbox.Tenant == tenant
}

// IsSandbox reports whether the session is a sandbox.
func (spec *Spec) IsSandbox() bool { return spec.Sandbox != nil }
