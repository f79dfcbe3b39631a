package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/flock"
	"aibox/runtime/limit"
)

// Sessions that cannot start yet wait in a queue. No process manages it: each waiting
// supervisor reads the records of the others, and decides while it holds the lock of
// queueFile. A session takes its place by storing a phase other than Queued while it holds
// that lock. It releases the place when it stores that it has ended, or when its supervisor
// dies and the kernel releases the session's lock. The queue is in the order of the ids.

// queueFile is the file whose lock is held while a session joins the queue or leaves it.
const queueFile = "queue.lock"

// queueTimeout is how long a session waits for the lock of queueFile. Another process holds
// it for a few milliseconds.
const queueTimeout = 10 * time.Second

// Resource is a resource that a queued session waits for.
type Resource string

// The resources.
const (
	ForPlace  Resource = "place"  // --max-parallel: too many sessions run
	ForMemory Resource = "memory" // the limits of running sessions, or the machine, leave too little
)

// Queue is the state of a session that waits for its turn to start.
type Queue struct {
	Since time.Time `json:"since"`
	For   Resource  `json:"for"`
	Text  string    `json:"text"` // the reason for the wait, a clause
	// Detached reports that no client waits, so that the session keeps its record even if its
	// agent never starts.
	Detached bool `json:"detached,omitempty"`

	// behind are the sessions for whose end it waits, and whether each of them is queued too.
	behind map[ID]bool
	short  bool // the machine has too little available memory
}

// queueMember is a session that runs or waits, or a sandbox with a memory limit.
type queueMember struct {
	id      ID
	memory  int64  // bytes that it reserves
	queue   *Queue // nil if it has a place
	sandbox bool   // it takes no place, and sessions wait only for its memory
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

// JoinQueue decides whether the session id may start. The caller holds the lock of its
// folder. It returns nil if the session may start, otherwise what it has to wait for.
// Before it returns, it passes the result to store, which must write the session's record,
// while no other session can decide. A session that could never start is a Usage fault.
// Sandboxes do not wait: their creators do.
func (s Store) JoinQueue(ctx context.Context, id ID, spec *Spec, store func(*Queue) error) (*Queue, error) {
	waiting, cancel := context.WithTimeout(ctx, queueTimeout)
	defer cancel()
	path := filepath.Join(s.dirs.State, queueFile)
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
		return nil, store(nil)
	}
	machine, err := memoryOfMachine()
	if err != nil {
		return nil, err
	}
	queue, err := decideTurn(id, spec.MaxParallel, spec.reservedMemory(), s.queueMembers(id, spec, machine.short()), machine)
	if err != nil {
		return nil, err
	}
	return queue, store(queue)
}

// queueMembers returns the other sessions that run or wait, oldest first. A session without
// anything to wait for does not need them.
func (s Store) queueMembers(id ID, spec *Spec, short bool) []queueMember {
	if spec.MaxParallel == 0 && spec.reservedMemory() == 0 && !short {
		return nil
	}
	ids, _ := s.IDs() // if they cannot be read, it starts at once
	var members []queueMember
	for _, other := range ids {
		if other == id || other.Hidden() || s.Ended(other) || !IsLocked(s.Dir(other)) {
			continue
		}
		session, err := s.Load(other)
		if errors.Is(err, fs.ErrNotExist) || session.State.Phase == Ended {
			continue
		}
		member := queueMember{id: other, memory: session.reservedMemory(), sandbox: session.IsSandbox()} // a damaged record has a place
		// A sandbox of an agent is within the limits of the agent's session.
		if member.sandbox && (member.memory == 0 || session.ParentOf() != "") {
			continue
		}
		if session.State.Phase == Queued {
			member.queue = session.State.Queue
		}
		members = append(members, member)
	}
	return members
}

// decideTurn returns what the session has to wait for, or nil if it may start. limit is its
// --max-parallel and memory the reservation in bytes, both 0 for none. others are the
// sessions that run or wait.
//
// A session with --max-parallel starts after all earlier sessions. A session without it
// passes those that wait for a place, because it takes none, but not those that wait for
// memory, which would otherwise never get it. A session that reserves no memory waits only
// while the machine has hardly any available and a running session may release some.
func decideTurn(id ID, limit int, memory int64, others []queueMember, machine machineMemory) (*Queue, error) {
	if memory > machine.total {
		return nil, fault.New(fault.Usage, "the session's memory limit is %d MiB, and this machine has %d MiB", memory>>20, machine.total>>20).
			Hint("give it less with --memory")
	}
	var running, earlier, sandboxes []ID
	var used int64
	memoryQueued := false
	for _, other := range others {
		switch {
		case other.sandbox:
			sandboxes, used = append(sandboxes, other.id), used+other.memory
		case other.queue == nil:
			running, used = append(running, other.id), used+other.memory
		case other.id < id:
			earlier = append(earlier, other.id)
			memoryQueued = memoryQueued || other.queue.For == ForMemory
		}
	}
	queue := &Queue{Since: Now(), behind: map[ID]bool{}}
	switch free := machine.total - used; {
	case limit > 0 && len(running) >= limit:
		queue.For = ForPlace
		queue.Text = fmt.Sprintf("%s running, and at most %d may (--max-parallel)", amount.Of(len(running), "session"), limit)
	case memory > free:
		queue.For = ForMemory
		queue.Text = fmt.Sprintf("it may use %d MiB of memory, and running sessions leave %d of %d MiB", memory>>20, max(free, 0)>>20, machine.total>>20)
	case memory == 0 && machine.short() && len(running) > 0:
		queue.For, queue.short = ForMemory, true
		queue.Text = fmt.Sprintf("less than %d MiB of this machine's memory is available", memoryFloor>>20)
	case limit > 0 && len(earlier) > 0:
		queue.For, queue.Text = ForPlace, amount.Of(len(earlier), "session")+" came earlier"
	case memory > 0 && memoryQueued:
		queue.For, queue.Text = ForMemory, amount.Of(len(earlier), "session")+" came earlier"
	default:
		return nil, nil
	}
	if len(earlier) > 0 { // the last one of them will start first
		queue.behind[earlier[len(earlier)-1]] = true
		return queue, nil
	}
	if queue.For == ForMemory {
		running = append(running, sandboxes...)
	}
	for _, id := range running {
		queue.behind[id] = false
	}
	return queue, nil
}

// reservedMemory returns the memory in bytes that the session or sandbox reserves: its
// limit, if the user set one. The default limit is far above the needs of most sessions,
// and reserves nothing.
func (spec *Spec) reservedMemory() int64 {
	if spec.DefaultMemory {
		return 0
	}
	return spec.Memory.Bytes()
}

// MustWait reports whether all sessions that a queued session waits for are unchanged, and
// the machine's memory too if it waits for that, so that JoinQueue would return the same.
// It must be fast, because queued sessions call it all the time.
func (s Store) MustWait(queue *Queue) bool {
	first := true // first among those in the queue
	for id, queued := range queue.behind {
		first = first && !queued
		if s.Ended(id) || !IsLocked(s.Dir(id)) || s.IsQueued(id) != queued {
			return false
		}
	}
	if queue.short && first { // the others start one after the other
		machine, err := memoryOfMachine()
		return err == nil && machine.short()
	}
	return true
}

func (s Store) IsQueued(id ID) bool { return s.storedPhase(id) == Queued }

// queuePosition returns the place of a queued session in the queue, from 1.
func (s Store) queuePosition(id ID) int {
	ids, _ := s.IDs()
	position := 1
	for _, other := range ids {
		if other < id && !other.Hidden() && s.IsQueued(other) {
			position++
		}
	}
	return position
}

// FailedStart returns the result of a queued session whose agent never started because of
// cause.
func FailedStart(cause error, id ID) Result {
	failed := FailureOf(cause)
	failed.Hints = append(slices.Clone(failed.Hints), fmt.Sprintf("`aibox rerun %s` starts its task again", id))
	return Result{ExitCode: -1, Fault: failed, Refused: []Refusal{}}
}
