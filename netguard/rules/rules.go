// Package rules configures the network namespace that holds the bridges: the guard's
// address, a firewall (lock 1), routing rules (lock 2), and the sockets that are passed
// to the session's process. Each lock alone keeps a sandbox from reaching anything but the
// guard's own ports.
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

// up sets up everything that is not per session, and checks the result.
func up(ctx context.Context) error {
	state, err := readState()
	if err != nil {
		return err
	}
	if state.intact() && state.icmp {
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
		if state, err = readState(); err != nil { // another job may have done it
			return err
		}
		if err := state.repair(ctx); err != nil {
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

// down removes everything, unless a session is running.
func down(ctx context.Context) error {
	unlock, err := lockNamespace(unix.LOCK_EX)
	if err != nil {
		return err
	}
	defer unlock()
	busy, err := sessionListening()
	if err != nil {
		return err
	}
	if busy {
		return fault.New(fault.Refused, "a session is running behind the network guard").
			Hint("`aibox ls` lists the sessions, and `aibox stop` with an id ends one")
	}
	bridge, err := occupiedBridge()
	if err != nil {
		return err
	}
	if bridge != "" {
		return fault.New(fault.Refused, "a sandbox that outlived its session still uses bridge %s of the network guard", bridge).
			Hint("docker ps --filter label=aibox.session   # docker kill ID ends it")
	}
	if err := removeFirewalls(ctx); err != nil {
		return err // lock 2 is still in place
	}
	return errors.Join(removeRouting(), removeAlias())
}

// guard makes bridge safe and opens its sockets, which the caller owns. It blocks down
// from its check of the guard until the sockets exist.
func guard(ctx context.Context, bridge string, ports GuardRequest) ([]*os.File, error) {
	if err := checkBridge(bridge); err != nil {
		return nil, err
	}
	if len(ports.TCP) == 0 { // down recognizes a session by its listeners
		return nil, errors.New("a session has at least one TCP port")
	}
	for range repairs {
		files, intact, err := tryGuard(ctx, bridge, ports)
		if intact || err != nil {
			return files, err
		}
		if err := up(ctx); err != nil {
			return nil, err
		}
	}
	return nil, fault.New(fault.Refused, "another program keeps removing the network guard").Hint("aibox netguard status")
}

func tryGuard(ctx context.Context, bridge string, ports GuardRequest) (files []*os.File, intact bool, err error) {
	unlock, err := lockNamespace(unix.LOCK_SH)
	if err != nil {
		return nil, false, err
	}
	defer unlock()
	state, err := readState()
	if err != nil || !state.intact() {
		return nil, false, err
	}
	// The sockets first: if another session holds them, its rules stay as they are.
	if files, err = open(bridge, ports); err != nil {
		return nil, false, err
	}
	if err := isolate(bridge, ports); err != nil {
		closeAll(files)
		return nil, false, fmt.Errorf("locking bridge %s: %w", bridge, err)
	}
	return files, true, nil
}

// state is a snapshot of the installed rules.
type state struct {
	alias  bool
	tables []*firewall // IPv4, then IPv6 where the kernel has it
	order  []string    // problems with the order of routing rules
	icmp   bool
}

func readState() (*state, error) {
	tables, err := readFirewalls()
	if err != nil {
		return nil, err
	}
	_, alias, err := findAlias()
	if err != nil {
		return nil, err
	}
	order, err := routingOrder()
	if err != nil {
		return nil, err
	}
	return &state{alias: alias, tables: tables, order: order, icmp: icmpRate() == icmpRateOff}, nil
}

// drift reports what differs from the state in which a sandbox is safe.
func (s *state) drift() []string {
	drift := []string{}
	if !s.alias {
		drift = append(drift, fmt.Sprintf("%s is not on lo", netguard.Address()))
	}
	for _, table := range s.tables {
		drift = append(drift, table.drift()...)
	}
	return append(drift, s.order...)
}

func (s *state) intact() bool { return len(s.drift()) == 0 }

func (s *state) repair(ctx context.Context) error {
	rate := icmpRate()
	if slices.ContainsFunc(s.tables, (*firewall).hasOwnChains) {
		rate = icmpRateDefault // the current value is our own, or was restored
	}
	for _, table := range s.tables { // locks first, then the address
		if len(table.drift()) > 0 {
			if err := table.load(ctx); err != nil {
				return err
			}
		}
	}
	if err := orderRouting(); err != nil {
		return err
	}
	_ = setICMPRate(icmpRateOff) // for speed only; status shows it
	return addAlias(rate)
}

func status(ctx context.Context) (Status, error) {
	unlock, err := lockNamespace(unix.LOCK_SH) // not while another job is half done
	if err != nil {
		return Status{}, err
	}
	defer unlock()
	state, err := readState()
	if err != nil {
		return Status{}, err
	}
	s := Status{Alias: state.alias, ICMPRate: state.icmp, Drift: state.drift()}
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
	s.Routing, err = viewRouting()
	s.Routing.Ordered = len(state.order) == 0
	return s, err
}

// lockNamespace excludes other jobs in the same network namespace (unix.LOCK_EX), or only
// those that change shared state (unix.LOCK_SH), until the returned function is called. The
// lock is on the namespace itself, so it needs no path that all jobs can write.
func lockNamespace(kind int) (unlock func(), err error) {
	file, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return nil, err
	}
	for err = unix.EINTR; errors.Is(err, unix.EINTR); {
		err = unix.Flock(int(file.Fd()), kind)
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("locking the network namespace: %w", err)
	}
	return func() { file.Close() }, nil
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
