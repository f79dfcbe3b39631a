package rules

import (
	"context"
	"time"
)

// Site says where the bridges are: which namespaces a job has to enter. Exactly
// one of PID and InPlace must be set; the zero value is refused.
type Site struct {
	// PID is a process in the user namespace of the rootless daemon. The job
	// enters that user namespace, and its network namespace unless NetNS is set.
	PID int
	// NetNS is the file of a detached network namespace, entered instead of PID's.
	NetNS string
	// InPlace runs the job in the namespaces of aibox itself (rootful Docker, by
	// explicit choice): directly as root, else through sudo without a password.
	InPlace bool
}

// Client runs jobs at a Site, each in a short-lived process. It keeps no state
// and is safe for concurrent use.
type Client struct {
	Exe     string   // the program to run as the job; empty means os.Executable()
	Args    []string // what makes Exe call ServeJob; empty means {"netguard-job"}
	Site    Site
	Timeout time.Duration // of one job; 0 means 15 s
}

// Up puts everything in place that is not per session: alias, firewall chains,
// order of routing rules, ICMP limits. Doing it twice is doing it once.
func (c Client) Up(ctx context.Context) error { _, err := c.call(ctx, request{Op: opUp}); return err }

// Down takes back everything that Up and Guard put in place, of every session,
// and leaves tables, routing rules and addresses as they were before.
func (c Client) Down(ctx context.Context) error {
	_, err := c.call(ctx, request{Op: opDown})
	return err
}

// Status reports what is in place. It changes nothing.
func (c Client) Status(ctx context.Context) (Status, error) {
	reply, err := c.call(ctx, request{Op: opStatus})
	if err != nil {
		return Status{}, err
	}
	defer reply.close()
	return reply.Status, nil
}

// GuardRequest names the ports of Address that one session gets.
type GuardRequest struct {
	TCP []int `json:"tcp,omitempty"`
	UDP []int `json:"udp,omitempty"`
}

// Guard makes bridge safe to start a box on, in one job: whatever Up would do,
// with drift repaired (an error if that fails: never start a box then); the
// bridge's routing lock, which lets through exactly the ports of r; and sockets
// bound to that bridge alone. The bridge must exist, named with
// netguard.BridgePrefix. The caller owns the Sockets.
func (c Client) Guard(ctx context.Context, bridge string, r GuardRequest) (*Sockets, error) {
	reply, err := c.call(ctx, request{Op: opGuard, Bridge: bridge, GuardRequest: r})
	if err != nil {
		return nil, err
	}
	return reply.sockets(bridge, r)
}

// Release takes away what Guard let through on bridge and leaves it locked
// entirely, as a bridge in the pool should be. It is not needed for safety: once
// a session's sockets are closed nothing answers, so a crash may skip it.
func (c Client) Release(ctx context.Context, bridge string) error {
	_, err := c.call(ctx, request{Op: opRelease, Bridge: bridge})
	return err
}
