// Package manager holds aibox's use cases: start an agent in a sandbox, follow and stop it,
// review its changes, accept or discard them, and repair sessions after a crash. Each
// running session has its own supervisor process (package supervisor); everything else
// works on the sessions' folders and communicates with supervisors through their control
// sockets. The package does not depend on Docker, a firewall or an HTTP gateway: it uses
// them through the small interfaces of Deps.
package manager

import (
	"context"
	"net"

	"aibox/agents"
	"aibox/internal/paths"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/client"
	"aibox/session/summary"
)

// Deps are the dependencies of a Manager.
type Deps struct {
	Dirs   paths.Dirs
	Agents agents.Set // the available agents
	// Docker opens the container daemon. Only use cases that need the daemon call it, so
	// that old sessions can be viewed without one.
	Docker func(ctx context.Context) (Docker, error)
	// Settings returns the part of the user's settings that concerns all sessions; nil means
	// none. Only use cases that need it call it: reading the settings takes longer than
	// listing a thousand sessions.
	Settings func() Settings
	// Sweep removes remains of killed processes that do not belong to sessions. It may be nil.
	Sweep func() error
	// Looking is called when a command starts to scan a workspace: progress receives the
	// number of scanned names, and over is called at the end. Looking and progress may be nil.
	Looking func() (progress func(names int), over func())
}

// Settings are the user's settings for all sessions.
type Settings struct {
	// Supervise is the command line, without the program's name, with which aibox calls
	// supervisor.Run with the same Deps.
	Supervise []string
	// AuditCommand receives each event.
	AuditCommand auditlog.Command
	// Notifications are how a supervisor notifies the user.
	Notifications Notifications
}

// ReadSettings returns the user's settings for all sessions.
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
	Guard    func(ctx context.Context) (Guard, error) // for the namespace with the daemon's bridges
}

// Guard closes a bridge except for a few sockets.
type Guard interface {
	// Guard closes the bridge and returns sockets on the guard's address that can be reached
	// only from this bridge. It fails if any of its rules cannot be set.
	Guard(ctx context.Context, bridge string, tcp, udp []int) (Sockets, error)
	// Release closes the bridge completely.
	Release(ctx context.Context, bridge string) error
}

// Sockets are one session's sockets on the guard's address.
type Sockets interface {
	Listener(port int) net.Listener
	Packet(port int) net.PacketConn
	// Refuse rejects all other packets of the sandbox and reports their destinations to log,
	// until ctx ends.
	Refuse(ctx context.Context, log func(protocol, destination string)) error
	Close() error
}

// Manager manages the sessions of one user. Each part has one group of use cases, and
// newManager shows which parts it uses. It is safe for concurrent use.
type Manager struct {
	store session.Store
	deps  *Deps

	*session.Reader // reads records, output and events
	*client.Client  // follows, changes and stops running sessions
	*auditlog.Logs  // reads and follows audit logs
	*summary.Lister // lists sessions
	*workReader     // reads changes and the decisions about them
	*changeSets     // computes what sessions changed
	*feedbacks      // stores comments and rejected hunks
	*deliveries     // delivers accepted work
	*removals       // discards work and removes sessions
	*recoveries     // restores saved work
	*handovers      // resumes and forks sessions
	*launches       // starts supervisors
	*verifications  // runs the user's command on the work
	*repairs        // cleans up after supervisors that died
}

// New returns a Manager. It does no I/O.
func New(deps Deps) *Manager { return newManager(deps, session.NewStore(deps.Dirs)) }

func newManager(deps Deps, store session.Store) *Manager {
	supervisors := client.New(store)
	work := &workReader{store: store}
	sets := &changeSets{Client: supervisors, workReader: work, store: store, deps: &deps}
	feedbacks := &feedbacks{changeSets: sets, store: store}
	handovers := &handovers{feedbacks: feedbacks, store: store, deps: &deps}
	launches := &launches{store: store, deps: &deps}
	verifications := &verifications{changeSets: sets, launches: launches, containers: &containers{store: store, deps: &deps}, store: store}
	return &Manager{
		store: store, deps: &deps,
		Reader:        supervisors.Reader,
		Client:        supervisors,
		Logs:          auditlog.New(supervisors, store),
		Lister:        summary.New(supervisors, store),
		workReader:    work,
		changeSets:    sets,
		feedbacks:     feedbacks,
		deliveries:    &deliveries{changeSets: sets, store: store},
		removals:      &removals{changeSets: sets, handovers: handovers, store: store},
		recoveries:    &recoveries{changeSets: sets, store: store, deps: &deps},
		handovers:     handovers,
		launches:      launches,
		verifications: verifications,
		repairs:       &repairs{verifications: verifications, handovers: handovers, store: store, deps: &deps},
	}
}
