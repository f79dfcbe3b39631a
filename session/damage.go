package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"aibox/agents/spec"
	"aibox/audit"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/lazyregexp"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/runtime/limit"
	"aibox/session/control"
)

// Files of a record are replaced as a whole, so only a failing disk or another program
// damages one. Repair restores such a record from the state before the last step, the event
// log and the session's id, and sets the damaged file aside.

// damagedSuffix ends the names of damaged files that were set aside.
const damagedSuffix = ".damaged"

// KeptAs is followed by the name of a damaged file that was set aside, in the clauses of
// Store.Restore.
const KeptAs = " and is kept as "

// History holds the facts about a session that its event log records.
type History struct {
	started      audit.Event // event session.started
	AgentStarted time.Time   // when the agent started
	End          *AgentEnd   // nil if the log does not hold it
	AgentEnded   time.Time   // when the agent ended
	Last         time.Time   // time of the last event
	ContinuedBy  ID          // the session that continues this one
	container    string
	sandbox      runtime.Process
	claimed      *claimed
	discarded    bool
	whole        bool // the log could be read to its recorded end, so it proves what has not happened
}

// claimed is the data of the event sandbox.claimed: what a claim sets in the sandbox's spec.
type claimed struct {
	Tenant   Tenant `json:"tenant"`
	Template string `json:"template"`
	Name     string `json:"name"`
}

// AgentEnd is the data of the event agent.ended.
type AgentEnd struct {
	ExitCode int      `json:"exit_code"`
	Signal   int      `json:"signal"`
	Fault    *Failure `json:"fault"`
}

// History reads the session's event log, up to the first damaged event.
func (s Store) History(id ID) History {
	var h History
	last := -1
	err := audit.Read(s.AuditPath(id), func(e audit.Event) error { // events before an error are used
		last, h.Last = e.Seq, e.Time
		var data struct {
			ID      string          `json:"id"`
			Sandbox runtime.Process `json:"sandbox"`
			By      ID              `json:"by"`
		}
		_ = json.Unmarshal(e.Data, &data)
		switch e.Type.Today() {
		case audit.SessionStarted:
			h.started = e
		case audit.SandboxClaimed:
			var claim claimed
			if json.Unmarshal(e.Data, &claim) == nil {
				h.claimed = &claim
			}
		case audit.SandboxStarted:
			h.container, h.sandbox = data.ID, data.Sandbox
		case audit.AgentStarted:
			h.AgentStarted = e.Time
		case audit.AgentEnded:
			var end AgentEnd
			if json.Unmarshal(e.Data, &end) == nil {
				h.End, h.AgentEnded = &end, e.Time
			}
		case audit.SessionContinued:
			h.ContinuedBy = data.By
		case audit.SessionReturned:
			h.ContinuedBy = ""
		case audit.ChangesDiscarded:
			h.discarded = true
		case audit.ChangesRecovered:
			h.discarded = false
		}
		return nil
	})
	h.whole = err == nil && last >= max(0, audit.LastNumber(s.AuditPath(id)))
	return h
}

// MayHoldWork reports whether a session without a spec may hold work: the log says that its
// agent started, or its state has a workspace or cannot be read. Restore makes it readable.
func (s Store) MayHoldWork(id ID) bool {
	if !s.History(id).AgentStarted.IsZero() {
		return true
	}
	state, err := s.loadState(id)
	return err != nil || state.Workspace != nil || !state.Started.IsZero()
}

// Restore makes a damaged record readable. It returns a clause for each file that it
// restored. The caller holds the session's lock.
func (s Store) Restore(id ID) ([]string, error) {
	h := s.History(id)
	state, stateNote, err := s.restoreState(id, h)
	if err != nil {
		return nil, err
	}
	specNote, err := s.restoreSpec(id, h, state)
	var notes []string
	for _, note := range []string{specNote, stateNote} {
		if note != "" {
			notes = append(notes, note)
		}
	}
	return notes, err
}

// restoreState restores a damaged state, or one that is missing although the agent has
// started.
func (s Store) restoreState(id ID, h History) (State, string, error) {
	path := filepath.Join(s.Dir(id), StateFile)
	_, statErr := os.Lstat(path)
	state, err := s.loadState(id)
	var damage *DamagedError
	missing := errors.Is(statErr, fs.ErrNotExist) && !h.AgentStarted.IsZero()
	if !errors.As(err, &damage) && !missing {
		return state, "", err
	}
	note := StateFile + " was missing"
	if !missing {
		kept, err := setAside(path)
		if err != nil {
			return State{}, "", err
		}
		note = StateFile + " was damaged" + KeptAs + kept
	}
	state = State{Phase: Preparing}
	data, err := os.ReadFile(filepath.Join(s.Dir(id), previousFile))
	previous, decodeErr := decodeState(data)
	if err == nil && decodeErr == nil {
		state, note = previous, note+"; the state before the last step was restored"
	}
	if state.Phase == Preparing && state.Started.IsZero() && !h.whole { // nothing proves that the agent never started
		state.Started = Now()
	}
	h.Complete(&state)
	return state, note, s.WriteState(id, state)
}

// Complete adds facts from the log that the state lacks.
func (h *History) Complete(state *State) {
	if state.Sandbox.PID == 0 {
		state.Sandbox = h.sandbox
	}
	if state.ContainerID == "" {
		state.ContainerID = h.container
	}
	if state.Started.IsZero() {
		state.Started = h.AgentStarted
	}
	if state.Phase == Preparing && !state.Started.IsZero() {
		state.Phase = Running
	}
	if h.whole || h.ContinuedBy != "" {
		state.ContinuedBy = h.ContinuedBy
	}
	if h.discarded && state.Review == Unreviewed {
		state.Review = Discarded
	}
}

// restoreSpec restores a damaged or missing spec: who worked on what, without the task and
// most settings.
func (s Store) restoreSpec(id ID, h History, state State) (string, error) {
	path := filepath.Join(s.Dir(id), SpecFile)
	data, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return "", err
	}
	note := SpecFile + " was missing"
	if !missing {
		if _, err := decodeSpec(data); err == nil || errors.Is(err, ErrNewer) {
			return "", err
		}
		kept, err := setAside(path)
		if err != nil {
			return "", err
		}
		note = SpecFile + " was damaged" + KeptAs + kept
	}
	var started struct {
		Agent      string `json:"agent"`
		Repository string `json:"repository"`
		Tenant     Tenant `json:"tenant"`
		Resumes    ID     `json:"resumes"`
		Forks      ID     `json:"forks"`
		Network    string `json:"network"`
		Inference  string `json:"inference"`
		Image      string `json:"image"`
		Sandboxes  int    `json:"sandboxes"`

		Sandbox *SandboxSpec `json:"sandbox"`
	}
	_ = json.Unmarshal(h.started.Data, &started) // the zero value is used after an error
	spec := Spec{
		ID: id, Created: h.started.Time, Agent: started.Agent, Repository: started.Repository, Sandbox: started.Sandbox,
		Tenant: started.Tenant, Resumes: started.Resumes, Forks: started.Forks, Run: restoredRun(started.Sandboxes), DefaultMemory: true, Restored: true,
	}
	if spec.Resumes == "" && state.Workspace != nil && state.Workspace.Session != string(id) {
		if spec.Resumes, err = s.continuedBy(id); err != nil {
			return "", err
		}
	}
	spec.Network, spec.Inference, spec.Image = started.Network, started.Inference, started.Image
	if ws := state.Workspace; ws != nil {
		spec.Hide, spec.ReadOnly = ws.Hide, ws.ReadOnly
	}
	if spec.Sandbox != nil && h.claimed != nil {
		spec.Sandbox.Tenant, spec.Sandbox.Template, spec.Sandbox.Name = h.claimed.Tenant, h.claimed.Template, h.claimed.Name
		spec.Sandbox.Warm, spec.Sandbox.Claimed = nil, true
	}
	if spec.Agent == "" {
		_, spec.Agent, _ = strings.Cut(string(id), "-")
	}
	if spec.Repository == "" && state.Workspace != nil {
		spec.Repository = state.Workspace.Repo
	}
	if spec.Network == "" {
		spec.Network = netguard.None.String()
	}
	return note + "; the task and the settings of the session are lost", s.WriteSpec(id, spec)
}

// restoredRun returns settings with the default limits, and with the number of sandboxes that the agent
// could create; the limit of the disk is the largest default. Zeros of limits would mean that there are
// none.
func restoredRun(sandboxes int) config.Run {
	run, machine := config.Defaults().Run, limit.ThisMachine().Default()
	run.Memory, run.Disk = amount.MiB(machine.Memory>>20), config.MaxGrowth
	run.CPUs, _ = amount.DecimalOf(machine.CPUs) // a whole number
	if field, ok := spec.Lookup(run, "sandboxes"); ok {
		_ = field.Set(&run, strconv.Itoa(sandboxes)) // it stays 0 if the setting cannot have this value
	}
	return run
}

// continuedBy finds the session that the given one continues, in the records and logs of the others.
// It is empty if there is none.
func (s Store) continuedBy(by ID) (ID, error) {
	ids, err := s.IDs()
	for _, id := range ids {
		state, stateErr := s.loadState(id)
		if stateErr == nil && state.ContinuedBy == by || s.History(id).ContinuedBy == by {
			return id, nil
		}
	}
	return "", err
}

// setAside renames a damaged file and returns its new name.
func setAside(path string) (string, error) {
	for n := 1; ; n++ {
		kept := path + damagedSuffix
		if n > 1 {
			kept = fmt.Sprintf("%s%s.%d", path, damagedSuffix, n)
		}
		if _, err := os.Lstat(kept); errors.Is(err, fs.ErrNotExist) {
			return filepath.Base(kept), os.Rename(path, kept)
		} else if err != nil {
			return "", err
		}
	}
}

// temporary matches the names of files that paths.WriteFile has not finished.
var temporary = lazyregexp.New(`^\..+\.[0-9]+$`)

// ClearTemporary removes the files of a dead process in a session's folder: its socket, its
// counters, its reserved space, and files with which it was about to replace others. The
// caller holds the session's lock.
func (s Store) ClearTemporary(id ID) error {
	dir := s.Dir(id)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	errs := []error{releaseReserves(dir)}
	for _, entry := range entries {
		name := entry.Name()
		if name == control.SocketFile || name == liveFile+nextSuffix || temporary.MatchString(name) {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return errors.Join(errs...)
}
