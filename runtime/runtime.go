// Package runtime defines a sandbox: one agent on its own network. It holds the values and the
// small interfaces that sessions use. It knows no Docker and starts nothing; adapters such as
// runtime/docker do.
package runtime

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// Errors that backends return, to be tested with errors.Is.
var (
	// ErrNoImage reports that the daemon has no image with that reference.
	ErrNoImage = errors.New("no such image")
	// ErrDaemonLost reports that the connection to the daemon broke. The sandbox may still
	// run: kill its Process.
	ErrDaemonLost = errors.New("the container daemon was lost")
	// ErrPoolExhausted reports that every subnet of the network pool is taken.
	ErrPoolExhausted = errors.New("no free subnet is left in the network pool")
)

// Backend creates sandboxes. It is safe for concurrent use.
type Backend interface {
	// Info describes the daemon and reports whether it can run sandboxes. An unusable
	// daemon (absent, not rootless, no gVisor, too old) is a fault of kind
	// Environment whose hints say how to fix it.
	Info(ctx context.Context) (Info, error)
	// Image resolves a reference (name:tag or id) to the image's id. A missing
	// image is ErrNoImage.
	Image(ctx context.Context, ref string) (ImageID, error)
	// Create creates a sandbox without starting it. If it fails, nothing remains.
	Create(ctx context.Context, spec Spec) (Sandbox, error)
	// Sandboxes lists every sandbox of this user that the daemon knows, running or not.
	Sandboxes(ctx context.Context) ([]Sandbox, error)
}

// Sandbox is one sandbox. Its methods are safe for concurrent use.
type Sandbox interface {
	// ID returns the daemon's id of the sandbox.
	ID() string
	// Session returns the id of the session it belongs to.
	Session() string
	// Start starts PID 1 (Spec.Init). Called once.
	Start(ctx context.Context) error
	// State queries the daemon. A sandbox that the daemon no longer knows is Gone, without
	// an error.
	State(ctx context.Context) (State, error)
	// Wait waits for the end of the sandbox and returns its last state. The error wraps
	// ErrDaemonLost if the connection to the daemon broke, or is that of ctx.
	Wait(ctx context.Context) (State, error)
	// Destroy kills the sandbox and removes it. A sandbox that is gone is not an error. If
	// the daemon is lost, Destroy still kills the sandbox's process.
	Destroy(ctx context.Context) error
}

// Pauser is an optional interface of a Sandbox that can be paused: its programs stop, keep
// their memory, and continue later.
type Pauser interface {
	Pause(ctx context.Context) error
	Resume(ctx context.Context) error
}

// Checkpointer is an optional interface of a Sandbox whose state can be stored while it runs.
type Checkpointer interface {
	// Checkpoint writes the memory of all processes and the files of the root file system to
	// folder, which is empty. The sandbox does not run meanwhile; it continues afterwards, even
	// after an error. Mounts, connections and the files of the host are not part of it. If the
	// daemon could not restore it, Checkpoint returns a fault of kind Environment and writes
	// nothing.
	Checkpoint(ctx context.Context, folder string) error
}

// Scratch is an optional interface of a Sandbox that has folders in memory instead of the
// volumes that its image declares. They start empty and disappear with the sandbox. Each
// holds at most size bytes.
type Scratch interface {
	Scratch() (folders []string, size int64)
}

// Networks is the pool of bridges: one per running sandbox, created once and reused. Only
// one process at a time holds a bridge, and its death frees the bridge at once. It is safe
// for concurrent use.
type Networks interface {
	// Acquire leases a free bridge for session, or creates one.
	Acquire(ctx context.Context, session string) (Network, error)
	// Release ends the lease. The bridge stays for the next session.
	Release(ctx context.Context, network Network) error
	// List returns every bridge of the pool, taken or free, ordered by name.
	List(ctx context.Context) ([]Network, error)
	// Prune removes the bridges that are not leased and that no sandbox uses, and returns them.
	// A dry run only returns them.
	Prune(ctx context.Context, dryRun bool) ([]Network, error)
}

// ImageID is the immutable id of an image ("sha256:…"). Backends make it.
type ImageID string

// Network is one bridge of the pool.
type Network struct {
	ID      string       `json:"id"`                // the daemon's id
	Bridge  string       `json:"bridge"`            // the interface, "aibox-" and 8 characters
	Gateway netip.Addr   `json:"gateway"`           // the bridge's own address
	Subnet  netip.Prefix `json:"subnet"`            // a /29
	Session string       `json:"session,omitempty"` // the holder, empty when free
}

// Info describes the daemon.
type Info struct {
	Version    string    // of the daemon, for example "20.10.24"
	APIVersion string    // negotiated
	Rootless   bool      // the daemon runs in a user namespace of this user
	Runtimes   []Runtime // registered OCI runtimes, by name
	Site       Site      // where the bridges are
	DataRoot   string    // the daemon's data folder
}

// Runtime is an OCI runtime with which the daemon can start sandboxes.
type Runtime struct {
	Name string
	Path string
	Args []string
	// Unknown names its other registered properties, such as "runtimeType".
	Unknown []string
	// Overlay reports whether the root file system of a sandbox is an ephemeral overlay.
	// OverlaySize is its maximum size in bytes; 0 means no cap, so a sandbox could fill the
	// host's disk.
	Overlay     bool
	OverlaySize int64
}

// Find returns the runtime of that name.
func (i Info) Find(name string) (Runtime, bool) {
	for _, r := range i.Runtimes {
		if r.Name == name {
			return r, true
		}
	}
	return Runtime{}, false
}

// Site is the network namespace of the bridges. An unprivileged process enters it by nsenter
// into the user namespace of PID, and then the network namespace of PID, or that of the
// file NetNS if it is set.
type Site struct {
	PID      int    // a process in the daemon's user namespace; 0 for rootful
	NetNS    string // a namespace file to use instead of PID's, or empty
	Rootless bool
}

// Status is the phase of a sandbox's life.
type Status int

// The phases. The zero value is Unknown, which is neither running nor gone.
const (
	Unknown Status = iota
	Created        // created, not yet started
	Running
	Exited // ended, still known to the daemon
	Gone   // the daemon does not know it
)

// String returns the status as written in JSON output.
func (s Status) String() string {
	switch s {
	case Created:
		return "created"
	case Running:
		return "running"
	case Exited:
		return "exited"
	case Gone:
		return "gone"
	default:
		return "unknown"
	}
}

// State is the daemon's report about a sandbox. Docker's report does not prove that a
// sandbox is dead: check Process, too (see Process.Alive).
type State struct {
	Status   Status
	ExitCode int       // of PID 1, when Exited
	Message  string    // the daemon's error text, raw: escape before printing
	Started  time.Time // zero when created, not yet started
	Process  Process   // zero unless Running
}

// Mount is one bind mount.
type Mount struct {
	Source   string // absolute path on the host
	Target   string // absolute path in the sandbox
	ReadOnly bool
}

// InitPath is where PID 1 is mounted in a sandbox.
const InitPath = "/.aibox/init"

// Spec defines a sandbox. Its environment is that of the image; the agent's own environment
// comes over the lifeline.
type Spec struct {
	Session  string   // the session's id: a label and part of the name
	Image    ImageID  // from Backend.Image
	Runtime  string   // a registered runtime; empty means "runsc"
	Hostname string   // empty means "aibox"
	Init     string   // host path of the static init, mounted read-only as PID 1
	InitArgs []string // its arguments
	Mounts   []Mount  // bind mounts, in order
	Network  Network  // from Networks.Acquire
	// Host files mounted read-only at /etc/resolv.conf, /etc/hosts and /etc/hostname.
	// If empty, the daemon's own files are mounted, which a sandbox may fill without limit.
	ResolvConf, Hosts, HostnameFile string
	TmpSize                         int64             // bytes of the tmpfs on /tmp; 0 means 1 GiB
	Labels                          map[string]string // further labels; must not hold secrets
	// Checkpoint is a folder that Checkpointer.Checkpoint has filled. Start continues the
	// sandbox from there in place of starting Init. The checkpoint must be of a sandbox with
	// the same image, init, arguments and targets of mounts. Empty means a new start.
	Checkpoint string
}
