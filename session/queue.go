package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/flock"
)

// Sessions that cannot start yet wait in a queue. There is no process that manages it: each
// waiting supervisor looks at the records of the others, and decides while it holds the lock
// of queueFile. A session takes its place by storing a phase other than Queued, under that
// lock. It gives the place back when it stores that it has ended, or when its supervisor dies
// and the kernel releases the session's lock. Ids are the order of the queue.

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
	ForMemory Resource = "memory" // the memory limits of the running sessions leave too little
)

// Queue is the wait of a session for its turn to start.
type Queue struct {
	Since time.Time `json:"since"`
	For   Resource  `json:"for"`
	Text  string    `json:"text"` // what it waits for, a clause
	// Detached reports that no client waits, so that the session keeps its record whatever
	// happens before its agent starts.
	Detached bool `json:"detached,omitempty"`

	// behind are the sessions without which it might start, and whether each is queued too.
	behind map[ID]bool
}

// queueMember is a session that runs or waits.
type queueMember struct {
	id     ID
	memory int64  // that it reserves, in bytes
	queue  *Queue // nil if it has a place
}

// JoinQueue decides whether the session id may start, whose folder the caller has locked. It
// returns nil if it may, or what it has to wait for. Before that, it passes the result to
// store, which has to write the session's record, while no other session can decide. A
// session that could never start is a Usage fault.
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
	machine, err := memoryOfMachine()
	if err != nil {
		return nil, err
	}
	queue, err := decideTurn(id, spec.MaxParallel, spec.reservedMemory(), s.queueMembers(id, spec), machine)
	if err != nil {
		return nil, err
	}
	return queue, store(queue)
}

// queueMembers returns the other sessions that run or wait, oldest first. A session that
// waits for nothing needs none of them.
func (s Store) queueMembers(id ID, spec *Spec) []queueMember {
	if spec.MaxParallel == 0 && spec.reservedMemory() == 0 {
		return nil
	}
	ids, _ := s.IDs() // without them it starts at once
	var members []queueMember
	for _, other := range ids {
		if other == id || other.Hidden() || s.ended(other) || !isLocked(s.Dir(other)) {
			continue
		}
		session, err := s.Load(other)
		if errors.Is(err, fs.ErrNotExist) || session.State.Phase == Ended || session.IsSandbox() { // a sandbox is not the user's to wait for
			continue
		}
		member := queueMember{id: other, memory: session.reservedMemory()} // a damaged record has a place
		if session.State.Phase == Queued {
			member.queue = session.State.Queue
		}
		members = append(members, member)
	}
	return members
}

// decideTurn returns what the session has to wait for, or nil if it may start. limit is its
// --max-parallel and memory what it reserves in bytes, both 0 for none. others are the
// sessions that run or wait, and machine is the machine's memory in bytes.
//
// A session with --max-parallel starts after all that came earlier. One without it passes
// those that wait for a place, because it takes none, but not those that wait for memory,
// which would never get it otherwise.
func decideTurn(id ID, limit int, memory int64, others []queueMember, machine int64) (*Queue, error) {
	if memory > machine {
		return nil, fault.New(fault.Usage, "the session's memory limit is %d MiB, and this machine has %d MiB", memory>>20, machine>>20).
			Hint("give it less with --memory")
	}
	var running, earlier []ID
	var used int64
	memoryQueued := false
	for _, other := range others {
		switch {
		case other.queue == nil:
			running, used = append(running, other.id), used+other.memory
		case other.id < id:
			earlier = append(earlier, other.id)
			memoryQueued = memoryQueued || other.queue.For == ForMemory
		}
	}
	queue := &Queue{Since: now(), behind: map[ID]bool{}}
	switch free := machine - used; {
	case limit > 0 && len(running) >= limit:
		queue.For = ForPlace
		queue.Text = fmt.Sprintf("%s running, and at most %d may (--max-parallel)", amount.Of(len(running), "session"), limit)
	case memory > free:
		queue.For = ForMemory
		queue.Text = fmt.Sprintf("it may use %d MiB of memory, and running sessions leave %d of %d MiB", memory>>20, max(free, 0)>>20, machine>>20)
	case limit > 0 && len(earlier) > 0:
		queue.For, queue.Text = ForPlace, amount.Of(len(earlier), "session")+" came earlier"
	case memory > 0 && memoryQueued:
		queue.For, queue.Text = ForMemory, amount.Of(len(earlier), "session")+" came earlier"
	default:
		return nil, nil
	}
	if len(earlier) > 0 { // the last of them starts first
		queue.behind[earlier[len(earlier)-1]] = true
		return queue, nil
	}
	for _, id := range running {
		queue.behind[id] = false
	}
	return queue, nil
}

// reservedMemory is the memory in bytes that the session reserves: its limit, if the user set
// one. The default limit is a ceiling for one session, far above what most need, and reserves
// nothing.
func (spec *Spec) reservedMemory() int64 {
	if spec.DefaultMemory {
		return 0
	}
	return spec.Memory.Bytes()
}

// memoryOfMachine is the memory of this machine in bytes.
func memoryOfMachine() (int64, error) {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0, fmt.Errorf("reading the machine's memory: %w", err)
	}
	return int64(info.Totalram) * int64(info.Unit), nil //nolint:gosec // a memory of less than 8 EiB
}

// MustWait reports whether all sessions that a queued session waits for are as they were, so
// that JoinQueue would return the same. It is fast: queued sessions call it all the time.
func (s Store) MustWait(queue *Queue) bool {
	for id, queued := range queue.behind {
		if s.ended(id) || !isLocked(s.Dir(id)) || s.isQueued(id) != queued {
			return false
		}
	}
	return true
}

func (s Store) isQueued(id ID) bool { return s.storedPhase(id) == Queued }

// queuePosition returns the place of a queued session in the queue, from 1.
func (s Store) queuePosition(id ID) int {
	ids, _ := s.IDs()
	position := 1
	for _, other := range ids {
		if other < id && !other.Hidden() && s.isQueued(other) {
			position++
		}
	}
	return position
}

// setPositions numbers the queued sessions among the summaries, which are in the order of
// their ids.
func setPositions(summaries []Summary) {
	position := 0
	for i := range summaries {
		if summaries[i].Phase == Queued {
			position++
			summaries[i].Position = position
		}
	}
}

// FailedStart returns the result of a session that was queued, and whose agent never started
// because of cause.
func FailedStart(cause error, id ID) Result {
	failed := FailureOf(cause)
	failed.Hints = append(slices.Clone(failed.Hints), fmt.Sprintf("`aibox rerun %s` starts its task again", id))
	return Result{ExitCode: -1, Fault: failed, Refused: []Refusal{}}
}
