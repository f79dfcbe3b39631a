package runtime

import (
	"slices"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/lazyregexp"
	"aibox/internal/termtext"
)

// safeArgs are the arguments that a registered runsc may have: those of aibox's own setup,
// and those that do not affect what a sandbox can reach. Others do: --network=host,
// --host-uds, --directfs, a --debug-log in another place.
var safeArgs = lazyregexp.New(`^--?((ignore-cgroups|systemd-cgroup)(=(true|false))?|overlay2=(none|root:(self|memory|dir=/[^,]+)(,size=[0-9]+[kmgtKMGT]?)?)|platform=(systrap|kvm|ptrace)|network=sandbox)$`)

// Unsafe returns the properties of the runtime's registration that may let a sandbox
// escape, a clause each, safe for a terminal. Unknown properties count. It is empty for a
// registration that can start sandboxes. It does not consider missing limits.
func (r Runtime) Unsafe() []string {
	var unsafe []string
	if r.Path == "" {
		unsafe = append(unsafe, "Docker does not report its program")
	}
	for _, name := range r.Unknown {
		unsafe = append(unsafe, "aibox does not know its setting "+termtext.Escape(name))
	}
	for _, arg := range r.Args {
		if !safeArgs.MatchString(arg) {
			unsafe = append(unsafe, "aibox does not start sandboxes with its argument "+termtext.Escape(arg))
		}
	}
	return unsafe
}

// SystemRegistration is how a user registers gVisor with the system's Docker, which aibox's setup does not
// change. README.md has an example.
const SystemRegistration = "register runsc in /etc/docker/daemon.json with --overlay2=root:self,size=10g, then: sudo systemctl reload docker"

// Hint returns what the user can do if the daemon is rootless, or what for the system's Docker.
func (i Info) Hint(rootless, system string) string {
	if i.Rootless {
		return rootless
	}
	return system
}

// CheckSafe refuses a runtime of the daemon whose registration may let a sandbox escape: a
// fault of kind Environment. The user cannot override that.
func (i Info) CheckSafe(r Runtime) error {
	unsafe := r.Unsafe()
	if len(unsafe) == 0 {
		return nil
	}
	return fault.New(fault.Environment, "the runtime %s is registered with Docker in a way that may let a sandbox out: %s", termtext.Escape(r.Name), strings.Join(unsafe, "; ")).
		Hint("%s", i.Hint("`aibox doctor --fix` registers aibox's in its place", SystemRegistration))
}

// The runtime that restores sandboxes from checkpoints, as aibox's setup registers it. Docker
// cannot restore a container under runsc. The program turns the start of a container into a
// restore, and passes everything else on to runsc.
const (
	RestorerName = "aibox-restore"
	restorerPath = "/usr/local/lib/aibox/runsc-restore"
	restorerArg  = "--aibox-runsc="
)

// RestorerOf returns how the runtime that restores sandboxes of r must be registered.
func RestorerOf(r Runtime) Runtime {
	return Runtime{
		Name: RestorerName, Path: restorerPath, Args: append([]string{restorerArg + r.Path}, r.Args...),
		Overlay: r.Overlay, OverlaySize: r.OverlaySize,
	}
}

// CheckRestorer refuses a daemon that cannot restore sandboxes of the runtime with that
// name: a fault of kind Environment. The runtime that restores must have the same program
// and arguments, or a restored sandbox would be isolated differently.
func (i Info) CheckRestorer(name string) error {
	starter, ok := i.Find(name)
	restorer, found := i.Find(RestorerName)
	want := RestorerOf(starter)
	switch {
	case !ok || !found:
		return fault.New(fault.Environment, "Docker has no runtime that restores sandboxes from snapshots (%s)", RestorerName).
			Hint("%s", i.Hint("register it: aibox doctor --fix", RestorerNeedsRootless))
	case restorer.Path != want.Path || len(restorer.Unknown) > 0 || !slices.Equal(restorer.Args, want.Args):
		return fault.New(fault.Environment, "the runtime that restores sandboxes (%s) is not registered as %s is", RestorerName, termtext.Escape(name)).
			Hint("%s", i.Hint("register it again: aibox doctor --fix", RestorerNeedsRootless))
	default:
		return i.CheckSafe(starter)
	}
}

// RestorerNeedsRootless is what a user of the system's Docker can do to get snapshots, since aibox's setup
// registers the runtime that restores only with rootless Docker.
const RestorerNeedsRootless = "use rootless Docker for snapshots: remove --rootful, and the setting rootful"
