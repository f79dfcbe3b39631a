// Package rules configures the network namespace that holds the bridges: the guard's
// address, a firewall (lock 1), routing rules (lock 2), and the sockets that are passed to
// the session's process. Each lock by itself keeps a sandbox from reaching anything but the
// guard's own ports, with one exception: only lock 1 refuses broadcasts and multicasts of IPv4
// to services of the namespace, which the kernel delivers before it looks at routing rules.
//
// A job does the work: a short-lived process in that namespace, which acts only on "the
// namespace I run in". The caller chooses the namespace (Site). The package never talks
// to Docker and keeps no state outside the kernel.
//
// The chains are loaded with iptables-restore because go-iptables changes rules one at a
// time, which would leave a repaired lock open between two calls; the library reads them
// and removes them.
package rules

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/netguard"
)

// up sets up everything that is not per session, closes bridges that have lost their lock,
// and checks the result.
func (j job) up(ctx context.Context) error {
	state, err := readState()
	if err != nil {
		return err
	}
	if len(state.drift()) == 0 && !state.limitsICMP() {
		return nil
	}
	unlock, err := lockNamespace(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	var drift []string
	for try := range repairs {
		time.Sleep(time.Duration(try) * repairPause)
		if state, err = readState(); err != nil { // another job may have done that
			return err
		}
		changes, err := state.repair(ctx)
		if err != nil {
			return err
		}
		if err := j.run(ctx, changes); err != nil {
			return err
		}
		if state, err = readState(); err != nil {
			return err
		}
		if drift = state.drift(); len(drift) == 0 {
			return nil
		}
	}
	return fault.New(fault.Refused, "the network guard does not hold: %s", strings.Join(drift, "; ")).
		Hint("aibox netguard status")
}

// While Docker creates a network it inserts several rules at the top of FORWARD, one after
// the other. So a failed check is repaired several times, with growing pauses, before it
// counts as a failure.
const (
	repairs     = 6
	repairPause = 15 * time.Millisecond
)

// planUp returns the changes that up would make now.
func planUp(ctx context.Context) ([]Change, error) {
	unlock, err := lockNamespace(unix.LOCK_EX) // not while another job is half done
	if err != nil {
		return nil, err
	}
	defer unlock()
	state, err := readState()
	if err != nil {
		return nil, err
	}
	changes, err := state.repair(ctx)
	return described(changes), err
}

// down removes everything, unless a session is running.
func (j job) down(ctx context.Context) error {
	unlock, err := lockNamespace(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	changes, err := removal(ctx)
	if err != nil {
		return err
	}
	return j.run(ctx, changes)
}

// planDown returns the changes that down would make now.
func planDown(ctx context.Context) ([]Change, error) {
	unlock, err := lockNamespace(unix.LOCK_EX)
	if err != nil {
		return nil, err
	}
	defer unlock()
	changes, err := removal(ctx)
	return described(changes), err
}

// removal returns the changes that remove everything: lock 1, lock 2, the address. It fails
// while the locks are needed.
func removal(ctx context.Context) ([]change, error) {
	if err := checkUnused(); err != nil {
		return nil, err
	}
	changes, err := removeFirewalls(ctx)
	if err != nil {
		return nil, err
	}
	r, err := readRouting()
	if err != nil {
		return nil, err
	}
	alias, err := removeAlias()
	return slices.Concat(changes, r.removal(), alias), err
}

// checkUnused fails while a session is running or a sandbox is on a bridge.
func checkUnused() error {
	busy, err := sessionListening()
	if err != nil {
		return err
	}
	if busy {
		return fault.New(fault.Refused, "a session is running behind the network guard").
			Hint("`aibox ls` lists the sessions, and `aibox stop` with an id ends one")
	}
	bridges, err := occupiedBridges()
	if err != nil {
		return err
	}
	if len(bridges) > 0 {
		return fault.New(fault.Refused, "a sandbox that outlived its session still uses bridge %s of the network guard", bridges[0]).
			Hint("docker ps --filter label=aibox.session   # docker kill ID ends it")
	}
	return nil
}

// guard makes bridge safe and opens its sockets, which the caller owns. It blocks down
// from its check of the guard until the sockets exist.
func (j job) guard(ctx context.Context, bridge string, ports GuardRequest) ([]*os.File, error) {
	if err := checkBridge(bridge); err != nil {
		return nil, err
	}
	if len(ports.TCP) == 0 { // down recognizes a session by its listeners
		return nil, errors.New("a session has at least one TCP port")
	}
	for range repairs {
		files, intact, err := j.tryGuard(ctx, bridge, ports)
		if intact || err != nil {
			return files, err
		}
		if err := j.up(ctx); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Refused, "another program keeps removing the network guard").Hint("aibox netguard status")
}

func (j job) tryGuard(ctx context.Context, bridge string, ports GuardRequest) (files []*os.File, intact bool, err error) {
	unlock, err := lockNamespace(unix.LOCK_SH)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	state, err := readState()
	if err != nil || len(state.sharedDrift()) > 0 {
		return nil, false, err
	}
	// The sockets first: if another session holds them, its rules stay as they are.
	if files, err = open(bridge, ports); err != nil {
		return nil, false, err
	}
	changes, err := isolate(bridge, ports)
	if err == nil {
		err = j.run(ctx, changes)
	}
	if err != nil {
		closeAll(files)
		return nil, false, fmt.Errorf("locking bridge %s: %w", bridge, err)
	}
	return files, true, nil
}

func status(ctx context.Context) (Status, error) {
	unlock, err := lockNamespace(unix.LOCK_EX) // not while another job is half done
	if err != nil {
		return Status{}, err
	}
	defer unlock()
	state, err := readState()
	if err != nil {
		return Status{}, err
	}
	s := Status{Alias: state.alias.up, ICMPRate: state.rate == icmpRateOff, Drift: state.drift(), Routing: state.routing.view()}
	s.Up = len(s.Drift) == 0
	for i, table := range state.tables {
		view, err := table.view(ctx)
		if err != nil {
			return Status{}, err
		}
		if i == 0 {
			s.Firewall = view
		} else {
			s.Firewall6 = view
		}
	}
	return s, nil
}

// lockNamespace excludes other jobs in the same network namespace (unix.LOCK_EX), or only
// those that change shared state (unix.LOCK_SH), until the returned function is called and the
// tools that the job has started have ended: they inherit the lock, since they can outlive a job
// that is killed, and change what the next job has checked. The lock is on the namespace itself,
// so it needs no path that all jobs can write.
func lockNamespace(kind int) (unlock func(), err error) {
	fd, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the network namespace: %w", err)
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(fd, kind)
	}
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("locking the network namespace: %w", err)
	}
	return func() { _ = unix.Close(fd) }, nil
}

// checkBridge rejects names that the wildcard of lock 1 does not match or that Docker's
// bridges cannot have.
func checkBridge(name string) error {
	rest, ok := strings.CutPrefix(name, netguard.BridgePrefix)
	odd := strings.ContainsFunc(rest, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	if !ok || rest == "" || odd || len(name) >= unix.IFNAMSIZ {
		return fmt.Errorf("%q is not the name of a session's bridge", name)
	}
	return nil
}
