package session

import (
	"fmt"
	"slices"
	"time"
)

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
}

// IsQueued reports whether the session waits for its turn to start. False proves nothing.
func (s Store) IsQueued(id ID) bool { return s.storedPhase(id) == Queued }

// QueuedFor returns what a session waits for before it starts; empty if it is not queued. Empty
// proves nothing.
func (s Store) QueuedFor(id ID) Resource {
	var state State
	if !s.IsQueued(id) || s.Read(id, StateFile, &state) != nil || state.Queue == nil {
		return ""
	}
	return state.Queue.For
}

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
func FailedStart(cause error, spec *Spec) Result {
	failed := FailureOf(cause)
	failed.Hints = append(slices.Clone(failed.Hints), StartAgain(spec))
	return Result{ExitCode: -1, Fault: failed, Refused: []Refusal{}}
}

// StartAgain returns a hint that says how to start the task of a session whose agent never
// started. A rerun has nothing of the work that the session should have continued.
func StartAgain(spec *Spec) string {
	rerun := fmt.Sprintf("`aibox rerun %s` starts its task", spec.ID)
	switch {
	case spec.Resumes != "":
		return fmt.Sprintf("`%s`, with its task, continues %s; %s without that work", ResumeCommand(spec.Resumes, spec.Agent), spec.Resumes, rerun)
	case spec.Forks != "":
		return fmt.Sprintf("`%s`, with its task, continues %s; %s without that work", forkCommand(spec.Forks, spec.Agent), spec.Forks, rerun)
	default:
		return rerun + " again"
	}
}
