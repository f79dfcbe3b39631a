package e2e

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/runtime"
)

// record is a session as its files hold it.
type record struct {
	ID    string
	State struct {
		Phase      string          `json:"phase"`
		Started    time.Time       `json:"started"`
		Supervisor runtime.Process `json:"supervisor"`
		Sandbox    runtime.Process `json:"sandbox"`
		Watchdog   runtime.Process `json:"watchdog"`
		Container  string          `json:"box"`
		Network    runtime.Network `json:"network"`
		Workspace  struct {
			Path   string `json:"path"`
			GitDir string `json:"git_dir"`
		} `json:"workspace"`
		Result *result `json:"result"`
		Review string  `json:"review"`
		Branch string  `json:"branch"`
	}
}

// sandboxEnds waits until the session's sandbox is gone, and logs how long that took.
func (r record) sandboxEnds(t testing.TB) {
	t.Helper()
	took := eventually(t, hung, "the sandbox is gone", func() bool { return !r.State.Sandbox.Alive() })
	t.Logf("the sandbox was gone after %v", took)
}

// failure is what went wrong.
type failure struct {
	Kind     string   `json:"kind"`
	Message  string   `json:"message"`
	Hints    []string `json:"hints"`
	ExitCode int      `json:"exit_code"`
	Session  string   `json:"session"` // of an error that is printed
}

// result is how a session ended, as the contract with scripts has it.
type result struct {
	ExitCode int      `json:"exit_code"`
	Signal   int      `json:"signal"`
	Changed  bool     `json:"changed"`
	Fault    *failure `json:"fault"`
	Changes  struct {
		Tree    string   `json:"tree"`
		Files   int      `json:"files"`
		Added   int      `json:"added"`
		Deleted int      `json:"deleted"`
		Refused int      `json:"refused"`
		Notes   []string `json:"notes"`
		Unknown string   `json:"unknown"`
		Tries   int      `json:"tries"`
		Disk    bool     `json:"disk"`
	} `json:"changes"`
	Refused []refusal `json:"refused"`
	Tokens  tokens    `json:"tokens"`
	Models  []struct {
		Model  string `json:"model"`
		Tokens tokens `json:"tokens"`
	} `json:"models"`
	Egress  json.RawMessage `json:"egress"`
	Seconds float64         `json:"seconds"`
	Commits []string        `json:"commits"`
	Dropped int64           `json:"dropped"`
	Left    bool            `json:"left"`
	Notes   []string        `json:"notes"`

	Verification *verification `json:"verification"`

	ModelSilence  float64 `json:"model_silence_seconds"`
	ModelFailures *struct {
		Count   int    `json:"count"`
		Status  int    `json:"status"`
		Message string `json:"message"`
	} `json:"model_failures"`
}

type tokens struct {
	Requests int     `json:"requests"`
	Input    int     `json:"input"`
	Cached   int     `json:"cached"`
	Output   int     `json:"output"`
	Unknown  int     `json:"unknown"`
	Cost     float64 `json:"cost_usd"`
	Unpriced int     `json:"unpriced"`
}

type refusal struct {
	What   string `json:"what"`
	Target string `json:"target"`
	Reason string `json:"reason"`
	Times  int    `json:"times"`
}

// refused reports whether something was refused to what target contains.
func (r *result) refusedTarget(target string) bool {
	return slices.ContainsFunc(r.Refused, func(one refusal) bool { return strings.Contains(one.Target, target) })
}

func (m *machine) sessions() string { return filepath.Join(m.home, ".local/state/aibox/sessions") }

// stored reads the sessions from their files, without the program's help.
func (m *machine) stored() []record {
	entries, _ := os.ReadDir(m.sessions())
	var all []record
	for _, entry := range entries {
		if entry.IsDir() { // no lock or cache of all sessions
			all = append(all, m.record(entry.Name()))
		}
	}
	return all
}

// record reads one session's state from its file.
func (m *machine) record(id string) record {
	r := record{ID: id}
	data, err := os.ReadFile(filepath.Join(m.sessions(), id, "state.json"))
	if err == nil {
		err = json.Unmarshal(data, &r.State)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		m.t.Errorf("the state of %s: %v", id, err)
	}
	return r
}
