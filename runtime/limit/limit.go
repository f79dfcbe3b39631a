// Package limit limits the memory, the processors and the processes of a sandbox, and
// measures their use. It needs no root. Two packages enforce limits: scope by a unit of the
// user's systemd, and process by system calls that a user may make for their own processes.
// Neither decides how a session reacts at its limit.
package limit

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"aibox/internal/amount"
	"aibox/runtime"
)

// Limits are the limits of one sandbox. Zero means no limit.
type Limits struct {
	Memory    int64   // bytes
	CPUs      float64 // processors that the sandbox can use at once
	Processes int     // in the sandbox, which PID 1 enforces with a resource limit; see also Tasks
}

// String lists the limits, "8 GiB of memory, 3 CPUs"; empty if there are none.
func (l Limits) String() string {
	var parts []string
	if l.Memory > 0 {
		parts = append(parts, amount.Bytes(l.Memory)+" of memory")
	}
	if l.CPUs > 0 {
		noun := " CPUs"
		if l.CPUs == 1 {
			noun = " CPU"
		}
		parts = append(parts, strconv.FormatFloat(l.CPUs, 'f', -1, 64)+noun)
	}
	return strings.Join(parts, ", ")
}

// Check refuses limits under which no sandbox can work, and unresolved ones.
func (l Limits) Check() error {
	if l.Memory < 0 || l.CPUs < 0 || l.Processes < 0 {
		return fmt.Errorf("a limit is negative: %+v", l)
	}
	return nil
}

// Gap is a limit that cannot be enforced.
type Gap struct {
	Text string // a clause
	Hint string // a limit that can be enforced, or a way to enforce this one
}

// Sandbox is a sandbox that runs but has not started its agent.
type Sandbox struct {
	ID      string          // as runtime.Sandbox.ID
	Session string          // for descriptions
	Process runtime.Process // of the sandbox on the host
	// Within is the process of a sandbox under limits that hold for both sandboxes
	// together; zero for none. It must have every limit that this sandbox has.
	Within runtime.Process
}

// Enforcer puts sandboxes under limits. It is safe for concurrent use.
type Enforcer interface {
	// Name names the enforcing mechanism for users: "a systemd scope".
	Name() string
	// Gaps returns the limits that Enforce does not enforce.
	Gaps(l Limits) []Gap
	// Enforce puts the sandbox and everything that it starts under the limits, except Gaps
	// and Processes, of which it enforces MostTasks. It returns an error if the kernel does not
	// confirm one.
	Enforce(ctx context.Context, s Sandbox, l Limits) (Control, error)
}

// Control is a sandbox under limits. Close must be called.
type Control interface {
	// OutOfMemory is closed when the kernel or systemd has ended processes of the sandbox for
	// memory. It is nil if the kernel does not enforce the memory limit; then the caller has
	// to measure (Meter) and end the sandbox.
	OutOfMemory() <-chan struct{}
	// MachineOutOfMemory reports, once OutOfMemory is closed, that the memory of the machine or
	// of a group of its processes was used up, and not that of the sandbox's limit.
	MachineOutOfMemory() bool
	// Close releases what Enforce made. The sandbox must have ended.
	Close() error
}
