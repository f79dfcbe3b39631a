// Package scope enforces limits with systemd, without root: it asks the user's own systemd
// for a transient scope (org.freedesktop.systemd1(5), systemd.resource-control(5)) and moves
// the sandbox's processes there. runsc cannot do that itself in rootless Docker, because it
// asks the system's bus. The package trusts no answer: it reads every limit back from the
// kernel.
package scope

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"

	"aibox/runtime"
	"aibox/runtime/limit"
)

const (
	// jobTimeout is how long systemd may take to create a scope.
	jobTimeout = 30 * time.Second
	// attachRounds bounds how often to look for processes that started meanwhile.
	attachRounds = 20
)

// manager is the part of systemd's interface that the package uses; *dbus.Conn has it.
type manager interface {
	StartTransientUnitContext(ctx context.Context, name, mode string, properties []dbus.Property, ch chan<- string) (int, error)
	AttachProcessesToUnit(ctx context.Context, unit, subcgroup string, pids []uint32) error
	GetUnitTypePropertyContext(ctx context.Context, unit, unitType, propertyName string) (*dbus.Property, error)
	Close()
}

// Enforcer is the limit.Enforcer. Open makes it.
type Enforcer struct {
	connect func() (manager, error)
	cgroups cgroups
}

// Name returns "a scope of your systemd".
func (*Enforcer) Name() string { return "a scope of your systemd" }

// Gaps returns nothing: systemd enforces every limit.
func (*Enforcer) Gaps(limit.Limits) []limit.Gap { return nil }

// Enforce creates the scope, with all processes of the sandbox in it.
func (e *Enforcer) Enforce(ctx context.Context, s limit.Sandbox, l limit.Limits) (limit.Control, error) {
	if err := l.Check(); err != nil {
		return nil, err
	}
	systemd, err := e.connect()
	if err != nil {
		return nil, fmt.Errorf("connecting to systemd: %w", err)
	}
	if s.Within.PID != 0 {
		defer systemd.Close()
		if err := e.join(ctx, systemd, s); err != nil {
			return nil, fmt.Errorf("systemd did not put the sandbox under the limits of another one: %w", err)
		}
		return joined{}, nil
	}
	c := &control{systemd: systemd, unit: unitPrefix + s.ID[:min(len(s.ID), 12)] + ".scope", killed: make(chan struct{})}
	if err := c.create(ctx, s, l); err != nil {
		systemd.Close()
		return nil, fmt.Errorf("creating the scope %s: %w", c.unit, err)
	}
	dir, err := e.cgroups.of(s.Process.PID)
	if err == nil && !strings.HasSuffix(dir, "/"+c.unit) {
		err = fmt.Errorf("the sandbox is in the cgroup %s", dir)
	}
	if err == nil {
		err = c.attachRest(ctx, e.cgroups, s)
	}
	if err == nil {
		err = confirm(dir, l)
	}
	if err == nil {
		c.events, err = watchEvents(dir)
	}
	if err != nil {
		systemd.Close()
		return nil, fmt.Errorf("systemd did not put the sandbox under its limits: %w", err)
	}
	c.watching.Go(c.watch)
	return c, nil
}

// join moves the sandbox into the scope of another one, whose limits then hold for both
// together. The kernel does not know which of them uses how much, so the caller measures.
func (e *Enforcer) join(ctx context.Context, systemd manager, s limit.Sandbox) error {
	dir, err := e.cgroups.of(s.Within.PID)
	if err != nil {
		return err
	}
	if !s.Within.Alive() {
		return runtime.ErrGone
	}
	unit := filepath.Base(dir)
	if !strings.HasPrefix(unit, unitPrefix) || !strings.HasSuffix(unit, ".scope") {
		return fmt.Errorf("the other sandbox is in the cgroup %s", dir)
	}
	return (&control{systemd: systemd, unit: unit}).attachRest(ctx, e.cgroups, s)
}

// joined is a sandbox in the scope of another one. The other one releases the scope.
type joined struct{}

// OutOfMemory returns nil: the kernel does not enforce the sandbox's own limit.
func (joined) OutOfMemory() <-chan struct{} { return nil }

// MachineOutOfMemory returns false: OutOfMemory is never closed.
func (joined) MachineOutOfMemory() bool { return false }

// Close does nothing.
func (joined) Close() error { return nil }

// unitPrefix begins the names of the scopes.
const unitPrefix = "aibox-"

// weight is that of a sandbox on the processors, where others have 100. It is not one of the
// limits, so it need not be confirmed.
const weight = 50

// properties are those of the scope. The kernel ends the whole scope when its memory is
// exhausted, since a sandbox without some of its processes is broken.
func properties(s limit.Sandbox, l limit.Limits, pids []int) []dbus.Property {
	numbers := make([]uint32, len(pids))
	for i, pid := range pids {
		numbers[i] = uint32(pid)
	}
	set := func(name string, value any) dbus.Property {
		return dbus.Property{Name: name, Value: godbus.MakeVariant(value)}
	}
	all := []dbus.Property{
		dbus.PropDescription("aibox session " + s.Session),
		set("PIDs", numbers),
		set("CPUWeight", uint64(weight)),
		// The scope disappears when its processes have ended. The reference of this
		// connection keeps it until the result was read.
		set("CollectMode", "inactive-or-failed"), set("AddRef", true),
	}
	if l.Memory > 0 {
		all = append(all, set("MemoryMax", uint64(l.Memory)), set("MemorySwapMax", uint64(0)))
	}
	if l.CPUs > 0 {
		all = append(all, set("CPUQuotaPerSecUSec", quota(l)))
	}
	if l.Processes > 0 {
		all = append(all, set("TasksMax", uint64(l.MostTasks())))
	}
	return all
}

// quota returns the time on processors in a second, in microseconds.
func quota(l limit.Limits) uint64 { return uint64(math.Round(l.CPUs * 1e6)) }

// create creates the scope and waits until it exists.
func (c *control) create(ctx context.Context, s limit.Sandbox, l limit.Limits) error {
	pids, err := s.Processes()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, jobTimeout)
	defer cancel()
	all := properties(s, l, pids)
	// systemd before 253 has no OOMPolicy of scopes. There, the supervisor ends the session
	// when the kernel has ended any of its processes.
	oom := dbus.Property{Name: "OOMPolicy", Value: godbus.MakeVariant("kill")}
	err = c.start(ctx, append(all[:len(all):len(all)], oom))
	if isUnknownProperty(err) {
		err = c.start(ctx, all)
	}
	return err
}

func (c *control) start(ctx context.Context, all []dbus.Property) error {
	done := make(chan string, 1)
	if _, err := c.systemd.StartTransientUnitContext(ctx, c.unit, "fail", all, done); err != nil {
		return err
	}
	select {
	case result := <-done:
		if result != "done" {
			return fmt.Errorf("the job ended as %s", strconv.Quote(result))
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isUnknownProperty reports whether systemd does not know a property, or does not let a
// scope have it.
func isUnknownProperty(err error) bool {
	var reply godbus.Error
	return errors.As(err, &reply) && (reply.Name == "org.freedesktop.DBus.Error.PropertyReadOnly" || reply.Name == "org.freedesktop.DBus.Error.UnknownProperty")
}

// attachRest moves the processes that started while the scope was created.
func (c *control) attachRest(ctx context.Context, groups cgroups, s limit.Sandbox) error {
	for range attachRounds {
		pids, err := s.Processes()
		if err != nil {
			return err
		}
		var outside []uint32
		for _, pid := range pids {
			dir, err := groups.of(pid)
			if err == nil && !strings.HasSuffix(dir, "/"+c.unit) {
				outside = append(outside, uint32(pid))
			}
		}
		if len(outside) == 0 {
			return nil
		}
		if err := c.systemd.AttachProcessesToUnit(ctx, c.unit, "", outside); err != nil {
			return err
		}
	}
	return errors.New("the sandbox starts processes faster than they can be moved")
}
