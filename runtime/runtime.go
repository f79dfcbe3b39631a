// Package runtime says what a sandbox is: a sandbox with one agent in it, on a
// network of its own. It holds the values and the small interfaces that the
// session layer works with. It knows no Docker and starts nothing; adapters such
// as runtime/docker do.
package runtime

import (
	"context"
	"errors"
	"net/netip"
	"time"
)

// Errors that backends return, to be tested with errors.Is.
var (
	// ErrNoImage says that the daemon has no image of that reference.
	ErrNoImage = errors.New("no such image")
	// ErrDaemonLost says that the daemon went away while a sandbox was being waited
	// for. The sandbox may still run: kill it by its Process.
	ErrDaemonLost = errors.New("the container daemon was lost")
	// ErrPoolExhausted says that every subnet of the network pool is taken.
	ErrPoolExhausted = errors.New("no free subnet is left in the network pool")
)

// Backend makes sandboxes. It is safe for concurrent use.
type Backend interface {
	// Info describes the daemon and reports whether it can run sandboxes. An unusable
	// daemon (absent, not rootless, no gVisor, too old) is a fault of kind
	// Environment whose hints say how to fix it.
	Info(ctx context.Context) (Info, error)
	// Image resolves a reference (name:tag or id) to the image's id. A missing
	// image is ErrNoImage.
	Image(ctx context.Context, ref string) (ImageID, error)
	// Create makes a sandbox that does not run yet. Nothing remains when it
	// fails.
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
	// State asks the daemon. A sandbox the daemon no longer knows is Gone, with no
	// error.
	State(ctx context.Context) (State, error)
	// Wait returns the last state when the sandbox has ended, or ErrDaemonLost (in
	// the chain) when the connection to the daemon broke first, or ctx's error.
	Wait(ctx context.Context) (State, error)
	// Destroy kills the sandbox and removes it. A sandbox that is gone is no error, and
	// when the daemon is lost the sandbox's process is killed all the same.
	Destroy(ctx context.Context) error
}

// Scratch is an optional ability of a Sandbox that has folders in memory in place of the volumes
// that its image declares. They begin empty and are gone with the sandbox; each holds size
// bytes at most.
type Scratch interface {
	Scratch() (folders []string, size int64)
}

// Networks is the pool of bridges: one per running sandbox, made once and reused.
// Two processes never hold the same one at the same time, and one whose holder
// died is free again at once. It is safe for concurrent use.
type Networks interface {
	// Acquire takes a free bridge for session, or makes one.
	Acquire(ctx context.Context, session string) (Network, error)
	// Release gives it back. The bridge stays for the next session.
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
	Site       Site      // where the bridges live
	DataRoot   string    // the daemon's data folder
}

// Runtime is an OCI runtime the daemon can start sandboxes with.
type Runtime struct {
	Name string
	Path string
	Args []string
	// Unknown names whatever else it is registered with, such as "runtimeType".
	Unknown []string
	// Overlay reports that the root file system of a sandbox is an ephemeral overlay,
	// OverlaySize the bytes it may grow to; 0 means no cap, so a sandbox could fill
	// the host's disk.
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

// Site is the network namespace in which the bridges live, and how an
// unprivileged process enters it: by nsenter into the user namespace of PID, and
// by the network namespace of PID, or by the file NetNS when that is set.
type Site struct {
	PID      int    // a process in the daemon's user namespace; 0 for rootful
	NetNS    string // a namespace file that takes the place of PID's, or empty
	Rootless bool
}

// Status is the phase of a sandbox's life.
type Status int

// The phases. The zero value is Unknown, which is neither running nor gone.
const (
	Unknown Status = iota
	Created        // made, never started
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

// State is what the daemon reports about a sandbox. Docker's report is not enough to call a
// sandbox dead: look at Process too (see Process.Alive).
type State struct {
	Status   Status
	ExitCode int       // of PID 1, when Exited
	Message  string    // the daemon's error text, raw: escape before printing
	Started  time.Time // zero when never started
	Process  Process   // zero unless Running
}

// Mount is one bind mount.
type Mount struct {
	Source   string // absolute path on the host
	Target   string // absolute path in the sandbox
	ReadOnly bool
}

// Spec is everything a sandbox is made from. The environment is the image's alone;
// the agent's own comes over the lifeline.
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
	// Empty keeps the daemon's own, which a sandbox may be able to fill without a limit.
	ResolvConf, Hosts, HostnameFile string
	TmpSize                         int64             // bytes of the tmpfs on /tmp; 0 means 1 GiB
	Labels                          map[string]string // further labels; must not hold secrets
}
