// Package sandbox holds the use cases of sandboxes: create, list, change, pause and destroy
// them. A sandbox is a session without an agent (session.SandboxSpec), so it works like
// every session. Each call names the tenant that makes it: a sandbox of another tenant does
// not exist for it. The package knows no protocol, no token and no adapter.
package sandbox

import (
	"time"

	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// State is the stage of a sandbox.
type State string

// The states, in order. Paused and Running can follow each other.
const (
	Creating State = "creating"
	Running  State = "running"
	Paused   State = "paused"
	Ending   State = "ending"
	Ended    State = "ended" // only its record is left
)

// Sandbox is a sandbox as its tenant sees it.
type Sandbox struct {
	ID     session.ID
	Tenant session.Tenant
	session.Labels
	Template string
	ImageID  runtime.ImageID
	State    State
	Created  time.Time
	Started  time.Time // when processes can be started; zero before that
	Ended    time.Time // when it ended; zero before that
	Expires  time.Time // end of its time; zero without a limit

	IdleTimeout time.Duration // 0 for none
	OnTimeout   session.OnTimeout
	Limits      Limits
	Network     Network
	Volumes     []session.VolumeMount
	Permissions session.Permissions
	User        string
	Dir         string
	Snapshot    string           // snapshot from which it continues; empty if there is none
	Parent      session.ID       // the session whose agent created it; empty if there is none
	Warm        bool             // it was claimed from the pool of warm sandboxes
	Degraded    []string         // limits that this machine cannot enforce, a clause each
	Failure     *session.Failure // why it ended, unless it was requested
}

// Limits are the limits of a sandbox. 0 means no limit.
type Limits struct {
	Memory    int64   // bytes
	CPUs      float64 // processors
	Processes int
}

// Network is the network policy of a sandbox.
type Network struct {
	Policy string // none, local, allowlist or public
	Allow  []session.ListEntry
	Deny   []session.ListEntry
	Model  string // the model server; empty for none
	// Upload and Download are the limits in MiB of the data sent to and received from allowed
	// hosts; 0 without a limit, and with a policy that allows no host.
	Upload, Download int64
	// UploadPerHost and DownloadPerHost are the same for each of these hosts.
	UploadPerHost, DownloadPerHost int64
}

// view returns the sandbox of a session.
func view(s *session.Session) Sandbox {
	spec := s.Sandbox
	v := Sandbox{
		ID: s.ID, Tenant: spec.Tenant, Labels: s.Labels(), Template: spec.Template, ImageID: s.State.ImageID,
		State: stateOf(s), Created: s.Created, Started: s.State.Started, Ended: s.State.Ended,
		IdleTimeout: s.IdleLimit(), OnTimeout: spec.OnTimeout,
		Limits:  Limits{Memory: s.Memory.Bytes(), CPUs: s.CPUs.Float(), Processes: s.Pids},
		Network: networkOf(s), Volumes: spec.Volumes, Permissions: spec.Permissions, User: spec.User, Dir: spec.Dir,
		Degraded: s.State.Degraded, Snapshot: spec.Snapshot, Parent: s.ParentOf(),
		Warm: spec.Claimed,
	}
	if v.State == Running {
		v.Expires = s.State.Expires
	}
	if r := s.State.Result; r != nil && r.Fault != nil && fault.ParseKind(r.Fault.Kind) != fault.Interrupted {
		failure := *r.Fault
		failure.Hints = nil // they apply to agents' sessions
		v.Failure = &failure
	}
	return v
}

func stateOf(s *session.Session) State {
	switch phase := s.State.Phase; {
	case phase == session.Ended:
		return Ended
	case phase == session.Queued, phase == session.Preparing:
		return Creating
	case phase == session.Running && !s.State.Paused.IsZero():
		return Paused
	case phase == session.Running:
		return Running
	default:
		return Ending
	}
}

func networkOf(s *session.Session) Network {
	n := Network{Policy: s.Network}
	if s.HasModel() {
		n.Model = s.Inference
	}
	if s.Mode().HasProxy() {
		n.Upload, n.Download = int64(s.EgressUpload), int64(s.EgressDownload)
		n.UploadPerHost, n.DownloadPerHost = int64(s.EgressUploadHost), int64(s.EgressDownloadHost)
	}
	lists := s.State.Lists
	if lists == nil {
		if policy, _, err := s.Policy(); err == nil {
			lists = session.ListsOf(policy)
		}
	}
	if lists != nil {
		n.Allow, n.Deny = lists.Allow, lists.Deny
	}
	return n
}
