package session

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

// Removed marks the end of a record in transitions. It is never stored.
const Removed Phase = "removed"

// PhaseRule describes a stored phase.
type PhaseRule struct {
	Phase  Phase
	Means  string
	Stored string // contents of the state from this phase on
	Repair string // the effect of Repair on a session in this phase whose supervisor has died
}

// PhaseRules are the stored phases, in order. Ending is not one of them: Load derives it.
var PhaseRules = []PhaseRule{
	{
		Queued, "the session waits for its turn to start", "what it waits for",
		"removes the record; if the session was started detached, keeps the record with the cause, so that it can be rerun",
	},
	{
		Preparing, "the workspace, the network and the sandbox are being made; the agent has not started",
		"the supervisor, then one by one the workspace, the network, the watchdog, the container and the sandbox's process",
		"ends the sandbox, removes the container, returns the network, undoes the workspace (or returns it to the resumed session) and removes the record, unless the session was queued and detached",
	},
	{
		Warm, "a sandbox waits for the tenant who claims it; no program has run in it", "nothing more",
		"ends the sandbox, removes the container, returns the network and removes the record",
	},
	{
		Running, "the agent works", "when the agent started",
		"ends the sandbox, removes the container, returns the network, and stores a result: the agent's end from the event log if it is there, else that the supervisor died; the changes are unknown until a command computes them",
	},
	{
		Computing, "the agent has ended; its changes are being computed", "the result without the changes",
		"keeps the result; the changes are unknown until a command computes them",
	},
	{
		Verifying, "the agent has ended; the user's command runs on its work", "the result with the changes",
		"ends the verification's sandbox and stores that the verification was interrupted",
	},
	{
		Ended, "the session has ended; its work waits for a review or has had one", "the whole result, then the review",
		"removes a container that its supervisor could not remove",
	},
}

// Transition is a legal change of the stored phase.
type Transition struct {
	From, To Phase
	By       []string // the processes that make it: "supervisor", "repair", "command"
	When     string
}

// Transitions are all legal changes of the stored phase. A state can also be replaced
// within its phase.
var Transitions = []Transition{
	{Queued, Preparing, []string{"supervisor"}, "it is the session's turn"},
	{Queued, Ended, []string{"supervisor", "repair"}, "a detached session was stopped, or its supervisor died"},
	{Queued, Removed, []string{"supervisor", "repair"}, "the same, if its client was waiting"},
	{Preparing, Running, []string{"supervisor"}, "all probes have passed and the agent has started"},
	{Preparing, Warm, []string{"supervisor"}, "all probes of a warm sandbox have passed"},
	{Warm, Running, []string{"supervisor"}, "a tenant has claimed the sandbox, and all probes have passed again"},
	{Warm, Removed, []string{"supervisor", "repair"}, "the sandbox was not claimed, the claim failed, or its supervisor died"},
	{Preparing, Removed, []string{"supervisor", "repair"}, "the start failed, was canceled, or its supervisor died"},
	{Preparing, Ended, []string{"supervisor", "repair"}, "the same, if the session was queued and detached"},
	{Running, Computing, []string{"supervisor"}, "the agent has ended and its sandbox is dead"},
	{Running, Verifying, []string{"supervisor"}, "the same, when the disk did not take the computing phase"},
	{Running, Ended, []string{"supervisor", "repair"}, "the sandbox would not end, the session has no changes of its own, or its supervisor died"},
	{Computing, Verifying, []string{"supervisor"}, "the changes are stored and the session has a command that verifies them"},
	{Computing, Ended, []string{"supervisor", "repair"}, "the changes are stored, could not be computed, or the supervisor died"},
	{Verifying, Ended, []string{"supervisor", "repair"}, "the command has ended, or the supervisor died"},
	{Ended, Removed, []string{"command"}, "`aibox rm` or `aibox gc` removes the session"},
}

// known reports whether this version of aibox stores the phase.
func (p Phase) known() bool {
	return slices.ContainsFunc(PhaseRules, func(r PhaseRule) bool { return r.Phase == p })
}

// checkTransition refuses a state that must not follow the stored phase from. If the stored
// state is missing or damaged, from is empty, and any state of a known phase can follow,
// since any record is better than none.
func checkTransition(from Phase, to *State) error {
	if !to.Phase.known() {
		return fmt.Errorf("the phase %q cannot be stored", to.Phase)
	}
	if from == "" || from == to.Phase {
		return nil
	}
	if !slices.ContainsFunc(Transitions, func(t Transition) bool { return t.From == from && t.To == to.Phase }) {
		return fmt.Errorf("a session that is %s cannot become %s", from, to.Phase)
	}
	neverStarted := to.Phase == Preparing || to.Phase == Warm || to.Phase == Ended && to.Queue != nil
	switch {
	case to.Started.IsZero() && !neverStarted:
		return fmt.Errorf("a session cannot become %s before its agent has started", to.Phase)
	case to.Phase != Preparing && to.Phase != Warm && to.Phase != Running && to.Result == nil:
		return fmt.Errorf("a session cannot become %s without a result", to.Phase)
	}
	return nil
}

// WriteState replaces the state. It refuses a state that must not follow the stored one.
func (s Store) WriteState(id ID, state State) error {
	from := s.storedPhase(id)
	if err := checkTransition(from, &state); err != nil {
		return fault.New(fault.Internal, "the state of %s was not stored: %w", id, err)
	}
	if from != "" {
		s.keepPrevious(id)
	}
	return s.Write(id, StateFile, storedState{State: state, Format: recordFormat})
}

// A state file begins with its phase. Its beginning and end have the format of write.
const (
	phaseStart = "{\n  \"phase\": \""
	fileEnd    = "\n}\n"
)

// storedPhase returns the phase in the session's state file; empty if the file is missing,
// torn, or of another format.
func (s Store) storedPhase(id ID) Phase {
	rest, ok := s.glance(id, StateFile, phaseStart)
	phase, _, closed := strings.Cut(rest, `"`)
	if !ok || !closed || !Phase(phase).known() {
		return ""
	}
	return Phase(phase)
}

// specStart begins each spec file in the format of write.
const specStart = "{\n  \"id\": \""

// EndedWhole reports whether the session has ended and its record looks complete. It must
// be fast, because commands check every session. False proves nothing.
func (s Store) EndedWhole(id ID) bool {
	if s.storedPhase(id) != Ended {
		return false
	}
	_, ok := s.glance(id, SpecFile, specStart)
	return ok
}

// glance reads the beginning and the end of a file of the record. It reports whether they
// look complete, and returns the bytes after start.
func (s Store) glance(id ID, file, start string) (rest string, ok bool) {
	fd, err := unix.Open(s.root+"/"+string(id)+"/"+file, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", false
	}
	defer unix.Close(fd)
	var begin [40]byte
	n, err := unix.Pread(fd, begin[:], 0)
	if err != nil {
		return "", false
	}
	rest, ok = strings.CutPrefix(string(begin[:n]), start)
	return rest, ok && endsWith(fd, fileEnd)
}

// endsWith reports whether a file ends with text.
func endsWith(fd int, text string) bool {
	at, err := unix.Seek(fd, -int64(len(text)), unix.SEEK_END)
	if err != nil {
		return false
	}
	end := make([]byte, len(text))
	n, err := unix.Pread(fd, end, at)
	return err == nil && string(end[:n]) == text
}

// keepPrevious keeps a copy of the stored state, which is about to be replaced. It is needed
// only if the state is damaged, so errors are ignored. A link would be damaged along with the
// state if the supervisor died before it replaced the state.
func (s Store) keepPrevious(id ID) {
	current, previous := filepath.Join(s.Dir(id), StateFile), filepath.Join(s.Dir(id), previousFile)
	data, err := os.ReadFile(current)
	if err != nil {
		return
	}
	next := filepath.Join(s.Dir(id), "."+previousFile+".0") // one of the temporary files
	if os.WriteFile(next, data, 0o600) != nil || os.Rename(next, previous) != nil {
		_ = os.Remove(next)
	}
}

// previousFile is the state before the last step.
const previousFile = "state.previous.json"
