package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

// freezeLimit is how long the processes of a sandbox may take to stop.
const freezeLimit = 3 * time.Second

// line is the current lifeline. It is safe for concurrent use.
type line struct {
	mu   sync.Mutex
	conn *lifeline.Conn
}

func (l *line) current() *lifeline.Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.conn
}

func (l *line) replace(conn *lifeline.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.conn = conn
}

// freezer stops the processes of an idle sandbox while its state is stored.
type freezer struct {
	reports sync.RWMutex // held for writing while reports are held back

	mu       sync.Mutex // guards the following fields
	proof    []byte     // nil unless the sandbox is frozen
	stopped  []int      // the processes that were stopped
	restored bool       // the sandbox was restored, and waits for a Restore
}

// freeze stops every other process in the background, and starts none until thaw or restore.
func (srv *server) freeze(request lifeline.Freeze) error {
	srv.mu.Lock()
	idle := srv.idle
	srv.mu.Unlock()
	if !idle || len(request.Proof) != lifeline.ProofSize {
		return fmt.Errorf("%w: a freeze of a sandbox that has an agent, or without a proof", lifeline.ErrProtocol)
	}
	srv.freezer.mu.Lock() // set here and not by the goroutine, since a thaw that follows at once must see the freeze
	go func() {
		defer srv.freezer.mu.Unlock()
		if srv.freezer.proof != nil {
			srv.send(lifeline.TypeFrozen, lifeline.Frozen{Error: "the sandbox is frozen already"})
			return
		}
		srv.reaper.forks.Lock()
		srv.freezer.reports.Lock()
		stopped, err := stopOthers(freezeLimit)
		srv.freezer.stopped = stopped
		if err != nil {
			srv.release()
			srv.send(lifeline.TypeFrozen, lifeline.Frozen{Error: err.Error()})
			return
		}
		srv.freezer.proof = request.Proof
		srv.send(lifeline.TypeFrozen, lifeline.Frozen{})
	}()
	return nil
}

// release continues the processes. srv.freezer.mu is held.
func (srv *server) release() {
	// In reverse order, so that a parent finds its children running and not stopped.
	for _, pid := range slices.Backward(srv.freezer.stopped) {
		_ = unix.Kill(pid, unix.SIGCONT)
	}
	srv.freezer.proof, srv.freezer.stopped, srv.freezer.restored = nil, nil, false
	srv.freezer.reports.Unlock()
	srv.reaper.forks.Unlock()
}

// thaw ends a freeze. Without one it does nothing: the freeze may have failed.
func (srv *server) thaw() error {
	srv.freezer.mu.Lock()
	defer srv.freezer.mu.Unlock()
	if srv.freezer.restored {
		return fmt.Errorf("%w: a thaw of a restored sandbox", lifeline.ErrProtocol)
	}
	if srv.freezer.proof != nil {
		srv.release()
	}
	return nil
}

// reconnect connects to the supervisor of a restored sandbox, whose lifeline ended while it
// was frozen, and returns the proof for it. It returns nil if the sandbox was not frozen or
// no supervisor answers: then the lifeline is lost.
func (srv *server) reconnect() []byte {
	srv.freezer.mu.Lock()
	defer srv.freezer.mu.Unlock()
	if srv.freezer.proof == nil || srv.freezer.restored {
		return nil
	}
	_ = srv.line.current().Close()
	conn, err := dial(srv.ports.supervisor, redialLimit)
	if err != nil {
		return nil
	}
	srv.freezer.restored = true
	srv.line.replace(lifeline.NewConn(conn))
	return srv.freezer.proof
}

// restore hands a restored sandbox to its new supervisor, and continues its processes.
func (srv *server) restore(r lifeline.Restore) error {
	srv.freezer.mu.Lock()
	defer srv.freezer.mu.Unlock()
	if !srv.freezer.restored {
		return fmt.Errorf("%w: a restore of a sandbox that was started", lifeline.ErrProtocol)
	}
	home, err := srv.others.adopt(r)
	if err != nil {
		srv.send(lifeline.TypeError, lifeline.Error{Text: errorText(err)})
		srv.exit(lifeline.Exit{Code: 125})
		return nil
	}
	attach, flows, last := srv.others.attachments(srv.line.current())
	srv.send(lifeline.TypeRestored, lifeline.Restored{Home: home, Flows: flows, Last: last})
	attach() // from now on the supervisor takes their output
	srv.release()
	return nil
}

// adopt changes the environment of later processes, and writes files. It returns the home of
// the sandbox's user.
func (ps *processes) adopt(r lifeline.Restore) (home string, err error) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	env := ps.env
	for _, name := range r.Unset {
		env = slices.DeleteFunc(slices.Clone(env), func(setting string) bool { return len(setting) > len(name) && setting[:len(name)+1] == name+"=" })
	}
	ps.env = environment(env, r.Env)
	home = lookup(ps.env, "HOME")
	return home, writeFiles(home, r.Files)
}

// attachments opens flows to another supervisor for the processes that run. attach makes the
// processes use them.
func (ps *processes) attachments(conn *lifeline.Conn) (attach func(), ids []uint32, last uint32) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	var all []func()
	ids = []uint32{}
	for id, p := range ps.byID {
		if flow := conn.OpenFlow(id); flow != nil {
			ids = append(ids, id)
			all = append(all, func() { p.attach(flow) })
		}
	}
	slices.Sort(ids)
	return func() {
		for _, one := range all {
			one()
		}
	}, ids, ps.last
}

// stopOthers stops every other process of the sandbox, and returns the ones that it has
// stopped, in the order of their ids. Processes that had stopped before are not among them.
//
// Until a process is stopped, it can continue another one, and start one that the last check
// did not show. So the signals are repeated until nothing has changed several times.
func stopOthers(limit time.Duration) ([]int, error) {
	before := map[int]bool{} // whether it is stopped; a process that waits in the kernel is not
	for pid, state := range otherProcesses() {
		before[pid] = state == allStopped
	}
	deadline := time.Now().Add(limit)
	var last []int
	for same := 0; ; time.Sleep(time.Millisecond) {
		signalAll(unix.SIGSTOP)
		quiet := true
		var now []int
		for pid, state := range otherProcesses() {
			now = append(now, pid)
			quiet = quiet && state != canRun
		}
		slices.Sort(now)
		if quiet && (same == 0 || slices.Equal(now, last)) {
			same++
		} else {
			same = 0
		}
		last = now
		stopped := slices.DeleteFunc(slices.Clone(now), func(pid int) bool { return before[pid] })
		switch {
		case same == quietLooks:
			return stopped, nil
		case time.Now().After(deadline):
			return stopped, errors.New("a process in the sandbox does not stop")
		}
	}
}

// quietLooks is how many checks in a row must show the same processes, all of them stopped.
const quietLooks = 4

// processState is whether a process can execute anything.
type processState int

const (
	canRun     processState = iota
	blocked                 // each thread is stopped, or waits in the kernel and stops before it executes anything
	allStopped              // each thread is stopped
)

// otherProcesses returns the processes of the sandbox besides PID 1, without those that have
// ended.
func otherProcesses() map[int]processState {
	found := map[int]processState{}
	for _, pid := range otherIDs() {
		if state, alive := stateOf(pid); alive {
			found[pid] = state
		}
	}
	return found
}

// otherIDs lists the ids of the processes besides PID 1. In tests init is an ordinary process,
// and lists its descendants.
func otherIDs() []int {
	own := os.Getpid()
	if own != 1 {
		return descendants(own)
	}
	var ids []int
	for _, id := range numbers("/proc") {
		if id != own {
			ids = append(ids, id)
		}
	}
	return ids
}
