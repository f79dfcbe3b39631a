// Package session holds aibox's use cases: start an agent in a sandbox, follow and stop
// it, review its changes, accept or discard them, and repair sessions after a crash. Each
// running session has a supervisor process of its own (package supervisor); everything
// else works on the sessions' folders and talks to supervisors through their control
// sockets. The package knows no Docker, no firewall and no HTTP gateway: it uses them
// through the small interfaces of Deps.
package session

import (
	"context"
	"net"

	"aibox/agents"
	"aibox/internal/paths"
	"aibox/runtime"
)

// Deps are the dependencies of Sessions.
type Deps struct {
	Dirs   paths.Dirs
	Agents agents.Set // the available agents
	// Docker opens the container daemon. Only use cases that need the daemon call it, so
	// that old sessions can be viewed without one.
	Docker func(ctx context.Context) (Docker, error)
	// Settings returns what the user's settings decide; nil is nothing. Only use cases that
	// need it call it: reading the settings takes longer than listing a thousand sessions.
	Settings func() Settings
	// Sweep removes what killed processes have left of what this package does not know. It may
	// be nil.
	Sweep func() error
	// Looking is called when a command starts to scan a workspace: progress receives the
	// number of scanned names, and over is called at the end. Looking and progress may be
	// nil.
	Looking func() (progress func(names int), over func())
}

// Settings are what the user's settings decide about all sessions.
type Settings struct {
	// Supervise is the command line, without the program's name, with which aibox calls
	// supervisor.Run with the same Deps.
	Supervise []string
	// AuditCommand receives each event.
	AuditCommand AuditCommand
	// Notifications are how a supervisor notifies the user.
	Notifications Notifications
}

// ReadSettings returns what the user's settings decide.
func (d *Deps) ReadSettings() Settings {
	if d.Settings == nil {
		return Settings{}
	}
	return d.Settings()
}

// Docker is a container daemon and the guard of its networks.
type Docker struct {
	Backend  runtime.Backend
	Networks runtime.Networks
	Guard    func(ctx context.Context) (Guard, error) // of the namespace where the daemon's bridges are
}

// Guard closes a bridge to everything but a few sockets.
type Guard interface {
	// Guard locks the bridge and returns sockets on the guard's address that only
	// this bridge reaches. It fails when any lock cannot be put in place.
	Guard(ctx context.Context, bridge string, tcp, udp []int) (Sockets, error)
	// Release closes the bridge entirely.
	Release(ctx context.Context, bridge string) error
}

// Sockets are one session's sockets on the guard's address.
type Sockets interface {
	Listener(port int) net.Listener
	Packet(port int) net.PacketConn
	// Refuse rejects the sandbox's other packets and reports their destinations to log,
	// until ctx ends.
	Refuse(ctx context.Context, log func(protocol, destination string)) error
	Close() error
}

// Sessions are the sessions of one user. It is safe for concurrent use.
type Sessions struct {
	store Store
	deps  *Deps

	*reader
	*contact
	*changeSets
	*feedbacks
	*deliveries
	*removals
	*recoveries
	*handovers
	*launches
	*verifications
	*repairs
}

// New returns Sessions. It does no I/O.
func New(deps Deps) *Sessions { return newSessions(deps, NewStore(deps.Dirs)) }

func newSessions(deps Deps, store Store) *Sessions {
	reader := &reader{store: store}
	contact := &contact{reader: reader, store: store}
	sets := &changeSets{contact: contact, store: store, deps: &deps}
	feedbacks := &feedbacks{changeSets: sets, store: store}
	handovers := &handovers{feedbacks: feedbacks, store: store, deps: &deps}
	launches := &launches{store: store, deps: &deps}
	verifications := &verifications{changeSets: sets, launches: launches, containers: &containers{store: store, deps: &deps}, store: store}
	return &Sessions{
		store: store, deps: &deps,
		reader: reader, contact: contact, changeSets: sets, feedbacks: feedbacks,
		deliveries:    &deliveries{changeSets: sets, store: store},
		removals:      &removals{changeSets: sets, store: store},
		recoveries:    &recoveries{changeSets: sets, store: store, deps: &deps},
		handovers:     handovers,
		launches:      launches,
		verifications: verifications,
		repairs:       &repairs{verifications: verifications, handovers: handovers, store: store, deps: &deps},
	}
}
