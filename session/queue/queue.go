// Package queue decides when a session may start: it limits how many run at once, and the
// memory that they reserve. It starts nothing.
package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/runtime/limit"
	"aibox/session"
)

// Sessions that cannot start yet wait in a queue. No process manages it: each waiting
// supervisor reads the records of the others, and decides while it holds the lock of
// lockFile. A session takes its place by storing a phase other than Queued while it holds
// that lock. It releases the place when it stores that it has ended, or when its supervisor
// dies and the kernel releases the session's lock. The queue is in the order of the ids.

// lockFile is the file whose lock is held while a session joins the queue or leaves it.
const lockFile = "queue.lock"

// lockTimeout is how long a session waits for the lock of lockFile. Another process holds
// it for a few milliseconds.
const lockTimeout = 10 * time.Second

// Wait is the wait of a session for its turn.
type Wait struct {
	session.Queue

	// behind are the sessions for whose end it waits, and what each of them waits for itself;
	// empty if it runs.
	behind map[session.ID]session.Resource
	short  bool // the machine has too little available memory
}

// member is a session that runs or waits, or a sandbox with a memory limit.
type member struct {
	id      session.ID
	memory  int64          // bytes that it reserves
	queue   *session.Queue // nil if it has a place
	sandbox bool           // it takes no place, and sessions wait only for its memory
}

// memoryFloor is an amount of memory in bytes. While less is available and others run, no
// session without its own limit starts. A sandbox and a coding agent need about half of it.
const memoryFloor = 1 << 30

// machineMemory is the memory of this machine, in bytes.
type machineMemory struct {
	total, available int64
}

// memoryOfMachine measures this machine. In a container the container's limits count.
func memoryOfMachine() (machineMemory, error) {
	available, err := limit.AvailableMemory()
	if err != nil {
		return machineMemory{}, fmt.Errorf("reading the machine's memory: %w", err)
	}
	return machineMemory{total: limit.ThisMachine().Memory, available: available}, nil
}

// short reports whether too little memory is available for one more session.
func (m machineMemory) short() bool { return m.available < memoryFloor }

// Join decides whether the session id may start. The caller holds the lock of its folder. It
// returns nil if the session may start, otherwise what it has to wait for. Before it returns,
// it passes the result to save, which must write the session's record, while no other session
// can decide. A session that could never start is a Usage fault. Sandboxes do not wait: their
// creators do.
func Join(ctx context.Context, store session.Store, id session.ID, spec *session.Spec, save func(*session.Queue) error) (*Wait, error) {
	waiting, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	path := filepath.Join(store.Dirs().State, lockFile)
	turn, err := flock.Wait(waiting, path, flock.Exclusive)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fault.New(fault.Environment, "another process holds %s", path).
			Hint("`fuser %s` names it: a stopped aibox, perhaps", path)
	}
	if err != nil {
		return nil, fmt.Errorf("entering the queue of sessions: %w", err)
	}
	defer turn.Close()
	if spec.IsSandbox() {
		return nil, save(nil)
	}
	machine, err := memoryOfMachine()
	if err != nil {
		return nil, err
	}
	wait, err := decideTurn(id, spec.MaxParallel, reservedMemory(spec), members(store, id, spec, machine.short()), machine)
	if err != nil {
		return nil, err
	}
	if wait == nil {
		return nil, save(nil)
	}
	return wait, save(&wait.Queue)
}

// members returns the other sessions that run or wait, oldest first. A session without
// anything to wait for does not need them.
func members(store session.Store, id session.ID, spec *session.Spec, short bool) []member {
	if spec.MaxParallel == 0 && reservedMemory(spec) == 0 && !short {
		return nil
	}
	ids, _ := store.IDs() // if they cannot be read, it starts at once
	var all []member
	for _, other := range ids {
		if other == id || other.Hidden() || store.Ended(other) || !session.IsLocked(store.Dir(other)) {
			continue
		}
		record, err := store.Load(other)
		if errors.Is(err, fs.ErrNotExist) || record.State.Phase == session.Ended {
			continue
		}
		member := member{id: other, memory: reservedMemory(&record.Spec), sandbox: record.IsSandbox()} // a damaged record has a place
		// A sandbox of an agent is within the limits of the agent's session.
		if member.sandbox && (member.memory == 0 || record.ParentOf() != "") {
			continue
		}
		if record.State.Phase == session.Queued {
			member.queue = record.State.Queue
		}
		all = append(all, member)
	}
	return all
}

// decideTurn returns what the session has to wait for, or nil if it may start. limit is its
// --max-parallel and memory the reservation in bytes, both 0 for none. others are the
// sessions that run or wait.
//
// A session with --max-parallel starts after all earlier sessions. A session without it
// passes those that wait for a place, because it takes none, but not those that wait for
// memory, which would otherwise never get it. A session that reserves no memory waits only
// while the machine has hardly any available and a running session may release some.
func decideTurn(id session.ID, limit int, memory int64, others []member, machine machineMemory) (*Wait, error) {
	if memory > machine.total {
		return nil, fault.New(fault.Usage, "the session's memory limit is %d MiB, and this machine has %d MiB", memory>>20, machine.total>>20).
			Hint("give it less with --memory")
	}
	var running, sandboxes []session.ID
	var earlier []*member // those in the queue that start first
	var used int64
	for i := range others {
		switch other := &others[i]; {
		case other.sandbox:
			sandboxes, used = append(sandboxes, other.id), used+other.memory
		case other.queue == nil:
			running, used = append(running, other.id), used+other.memory
		case other.id < id && startsBefore(other, limit, memory):
			earlier = append(earlier, other)
		}
	}
	wait := &Wait{Queue: session.Queue{Since: session.Now()}, behind: map[session.ID]session.Resource{}}
	switch free := machine.total - used; {
	case limit > 0 && len(running) >= limit:
		wait.For = session.ForPlace
		wait.Text = fmt.Sprintf("%s running, and at most %d may (--max-parallel)", amount.Of(len(running), "session"), limit)
	case memory > free:
		wait.For = session.ForMemory
		wait.Text = fmt.Sprintf("it may use %d MiB of memory, and running sessions leave %d of %d MiB", memory>>20, max(free, 0)>>20, machine.total>>20)
	case limit > 0 && len(earlier) > 0: // before a lack of memory, so that others pass it when there is memory again
		wait.For, wait.Text = session.ForPlace, amount.Of(len(earlier), "session")+" came earlier"
	case memory == 0 && machine.short() && len(running) > 0:
		wait.For, wait.short = session.ForMemory, true
		wait.Text = fmt.Sprintf("less than %d MiB of this machine's memory is available", memoryFloor>>20)
	case memory > 0 && len(earlier) > 0:
		wait.For, wait.Text = session.ForMemory, amount.Of(len(earlier), "session")+" came earlier"
	default:
		return nil, nil
	}
	if len(earlier) > 0 { // the last one of them will start first
		last := earlier[len(earlier)-1]
		wait.behind[last.id] = last.queue.For
		return wait, nil
	}
	if wait.For == session.ForMemory {
		running = append(running, sandboxes...)
	}
	for _, id := range running {
		wait.behind[id] = ""
	}
	return wait, nil
}

// startsBefore reports whether an earlier session in the queue starts before one with this limit
// and reservation, whatever else happens. Only such a session can take the place of what a later
// one waits for: a later one behind any other would be woken too late.
func startsBefore(earlier *member, limit int, memory int64) bool {
	forMemory := earlier.queue.For == session.ForMemory
	return limit > 0 || forMemory && (memory > 0 || earlier.memory == 0)
}

// reservedMemory returns the memory in bytes that the session or sandbox reserves: its
// limit, if the user set one. The default limit is far above the needs of most sessions,
// and reserves nothing.
func reservedMemory(spec *session.Spec) int64 {
	if spec.DefaultMemory {
		return 0
	}
	return spec.Memory.Bytes()
}

// Unchanged reports whether all sessions that a queued session waits for are unchanged, and
// the machine's memory too if it waits for that, so that Join would return the same. It must
// be fast, because queued sessions call it all the time.
func (w *Wait) Unchanged(store session.Store) bool {
	first := true // first among those in the queue
	for id, resource := range w.behind {
		first = first && resource == ""
		// A session that begins to wait for something else may let this one pass.
		if store.Ended(id) || !session.IsLocked(store.Dir(id)) || store.QueuedFor(id) != resource {
			return false
		}
	}
	if w.short && first { // the others start one after the other
		machine, err := memoryOfMachine()
		return err == nil && machine.short()
	}
	return true
}
