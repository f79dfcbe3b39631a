package session

import (
	"context"
	"slices"
	"time"

	"aibox/internal/probe"
	"aibox/internal/screen"
	"aibox/netguard/preset"
	"aibox/runtime"
)

// Launch is everything a supervisor needs. It reaches the supervisor through a
// pipe and is never stored, since Env and Keys may hold secrets.
type Launch struct {
	Spec    Spec              `json:"spec"` // the supervisor sets Created, and ID unless it was chosen before
	ImageID runtime.ImageID   `json:"image_id"`
	Size    screen.Size       `json:"size,omitzero"`     // size of the terminal at the start, if Spec.Interactive; zero means 24 by 80
	Env     []string          `json:"env,omitempty"`     // NAME=VALUE for the agent, chosen by the user
	Keys    map[string]string `json:"keys,omitempty"`    // variables with keys of model servers, only for the gateway
	Secrets map[string]string `json:"secrets,omitempty"` // the agent's secret options by key, which it needs in its sandbox
	// Login is NAME=VALUE: the key of the user's account at the agent's vendor, only for the
	// agent's own sandbox.
	Login string `json:"login,omitempty"`
	// Injected are the values of the secrets that Spec.Secret names, only for the egress
	// proxy. They never enter the sandbox.
	Injected map[string]string `json:"injected,omitempty"`
	// Registries are those of the user's own package tools, for tools that the image does not
	// set up.
	Registries []preset.Registry `json:"registries,omitempty"`
	// ReportProbes reports each probe as a separate step, to show their progress.
	ReportProbes bool `json:"tell_probes,omitempty"`
	// AsksNothing makes the session act at its limits without asking the user.
	AsksNothing bool `json:"asks_nothing,omitempty"`
	// Detached reports that the client does not wait while the session is queued. The session
	// then keeps its record if it cannot start.
	Detached bool `json:"detached,omitempty"`
	// WatchesRequests reports that the client will watch the session's requests as soon as it
	// runs (see client.Client.WatchRequests), so that its first questions wait for the client.
	WatchesRequests bool `json:"attends,omitempty"`
	// Client is the process that requested the start, or zero: the start is canceled if the
	// process dies before the start is complete.
	Client runtime.Process `json:"client,omitzero"`
	// RecordID, which may be nil, is called with the id of the session before any of its files
	// exist, and with the id of a warm sandbox before it is claimed. An error cancels the
	// start.
	RecordID func(ctx context.Context, id ID) error `json:"-"`
}

// Step is a stage of the start.
type Step struct {
	Name   string        `json:"name"` // "workspace", "network", …
	Done   bool          `json:"done"`
	Detail string        `json:"detail,omitempty"`
	Took   time.Duration `json:"took,omitempty"`
	// Warning reports that the detail is a warning, not a result.
	Warning bool `json:"warning,omitempty"`
	// Probe is set in the steps of the probes: the probe has begun, or has ended if Done is
	// set. All begin before the first one ends.
	Probe *probe.Result `json:"probe,omitempty"`
}

// The stages from which on programs of the sandbox run. Each is reported before its first program
// can begin.
const (
	StagePresets = "presets" // tools are asked for their hosts
	StageAgent   = "agent"
	StageStart   = "start"   // of a sandbox without an agent: the programs of its template begin
	StageRestore = "restore" // the programs of a snapshot continue
)

// RunsPrograms reports whether programs of the sandbox may have run once the step is reported.
func (s *Step) RunsPrograms() bool {
	return slices.Contains([]string{StagePresets, StageAgent, StageStart, StageRestore}, s.Name)
}

// LaunchMessage is one line of a starting supervisor's report. Exactly one field
// is set, and a fault or an id is the last line.
type LaunchMessage struct {
	Step    *Step    `json:"step,omitempty"`
	Failure *Failure `json:"failure,omitempty"`
	Started ID       `json:"started,omitempty"`
}
