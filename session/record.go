// Package session holds the records of sessions and their store: what was asked for (Spec),
// what has happened (State), the files below a session's folder, their formats and locks. The
// packages below it do things with sessions: queue decides which may start, client calls the
// supervisors of running sessions, auditlog reads and delivers the audit logs, summary lists
// sessions, manager has the use cases, and supervisor owns a running session. This package
// imports none of them, and starts, ends and reviews nothing.
package session

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"aibox/agents"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/runtime"
	"aibox/workspace"
)

// Phase is the stage of a session.
type Phase string

// The phases, in order. A session whose supervisor died is Ended by the repair.
const (
	Queued    Phase = "queued" // it waits for its turn; see Queue
	Preparing Phase = "preparing"
	Warm      Phase = "warm" // a sandbox waits for its first user; see Claim
	Running   Phase = "running"
	Ending    Phase = "ending"    // the sandbox is dead, and its supervisor has not stored the result yet; never stored
	Computing Phase = "computing" // the agent has ended, and its changes are being computed
	Verifying Phase = "verifying" // the agent has ended, and the user's command runs on its work
	Ended     Phase = "ended"
)

// Review is the review state of the agent's changes.
type Review string

// The states of a review. The zero value is Unreviewed, so that work never counts as
// reviewed by mistake.
const (
	Unreviewed Review = ""
	Accepted   Review = "accepted"
	Discarded  Review = "discarded"

	PartlyAccepted Review = "partly-accepted" // some of it is accepted, the rest is undecided
)

// Spec is the request for a session, written once before the agent starts. It holds no
// secrets: only the names of environment variables.
type Spec struct {
	ID          ID                `json:"id"`
	Created     time.Time         `json:"created"`
	Agent       string            `json:"agent"`
	Options     map[string]string `json:"options,omitempty"` // the agent's own options, by field name
	Prompt      string            `json:"prompt,omitempty"`
	Prompts     []SystemPrompt    `json:"system,omitempty"`      // texts for the agent before the task, in order
	Resumes     ID                `json:"resumes,omitempty"`     // the session whose work and conversation it continues
	Forks       ID                `json:"forks,omitempty"`       // the session of whose work and conversation it has a copy
	Batch       BatchID           `json:"batch,omitempty"`       // the sessions that were started together on the same task
	Interactive bool              `json:"interactive,omitempty"` // the agent has a terminal, for the user
	Args        []string          `json:"args,omitempty"`        // the arguments after "--"
	Repository  string            `json:"repository"`            // as the user named it, as an absolute path
	Branch      string            `json:"branch,omitempty"`

	// Tenant is the tenant of the API that started the session; empty is the user.
	Tenant Tenant `json:"tenant,omitempty"`
	// Metadata is chosen by the API's caller; aibox does not interpret it.
	Metadata map[string]string `json:"metadata,omitempty"`

	// Run holds the settings of the session. Hide has all patterns, the built-in ones first;
	// Env has only names; Image is the reference, whose id is in State; Inference is a
	// description without credentials.
	config.Run

	// DefaultMemory reports that Memory is the built-in limit; see package queue.
	DefaultMemory bool `json:"default_memory,omitempty"`

	// Sources are the origins of the lists by setting, such as "your settings" for "allow".
	Sources map[string]string `json:"sources,omitempty"`
	// CloudHosts are the hosts of the agent's own cloud, as entries of an allow list, if
	// the agent uses it and the user has accepted them.
	CloudHosts []string `json:"cloud_hosts,omitempty"`

	Sandbox    *SandboxSpec `json:"sandbox,omitempty"`     // the session is a sandbox without an agent
	Verifies   *Verifies    `json:"verifies,omitempty"`    // the session is a verification
	NoFeedback bool         `json:"no_feedback,omitempty"` // leave a resumed session's feedback out of the prompt
	Feedback   string       `json:"feedback,omitempty"`    // the feedback in a resumed session's prompt

	// Restored reports that the record was lost and restored with the default limits.
	Restored bool `json:"restored,omitempty"`

	unrecorded []string // settings, by key, that the version which wrote the record did not have
}

// Owner returns the tenant that the session, which is no sandbox, belongs to.
func (spec *Spec) Owner() Tenant { return cmp.Or(spec.Tenant, LocalTenant) }

// WithoutNetwork returns the settings of a sandbox without a network for the session's
// work.
func (spec *Spec) WithoutNetwork() config.Run {
	return config.Run{
		Network: netguard.None.String(), Hide: spec.Hide, Mount: spec.Mount, Env: spec.Env, Image: spec.Image, Memory: spec.Memory, CPUs: spec.CPUs, Pids: spec.Pids, StateSize: spec.StateSize,
		Disk: spec.Disk, MaxOutput: spec.MaxOutput, AllowDegraded: spec.AllowDegraded,
	}
}

// Mode returns the mode of the network policy. An invalid one allows nothing.
func (spec *Spec) Mode() netguard.Mode {
	mode, _ := netguard.ParseMode(spec.Network)
	return mode
}

// HasModel reports whether the agent can reach a model. A sandbox has one only if it names
// a model server.
func (spec *Spec) HasModel() bool {
	return spec.Mode().HasInference() && !(spec.IsSandbox() && spec.Inference == "")
}

// ServerTools returns the allowed tools of the model's server. Each is a way out of the
// sandbox.
func (spec *Spec) ServerTools() []netguard.ServerTool {
	var tools []netguard.ServerTool
	for _, name := range spec.InferenceTools {
		if tool, err := netguard.ParseServerTool(name); err == nil { // an unknown tool stays closed
			tools = append(tools, tool)
		}
	}
	return tools
}

// OpenTools names the allowed tools of the model's server, separated by commas. Empty means
// that there is no way out of the sandbox.
func (spec *Spec) OpenTools() string {
	if !spec.HasModel() {
		return ""
	}
	return strings.Join(spec.InferenceTools, ", ")
}

// WaysOut returns a sentence for each allowed tool of the model's server that reaches the
// network. It is empty if there is none.
func (spec *Spec) WaysOut() []string {
	if !spec.HasModel() {
		return nil
	}
	var ways []string
	for _, tool := range spec.ServerTools() {
		ways = append(ways, tool.String()+" is open, a way out of the sandbox. "+tool.Opens())
	}
	return ways
}

// SystemPrompt is a text from the user's library of prompts, as of the session's start.
type SystemPrompt struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// State is the progress of a session. It is replaced as a whole at each step.
type State struct {
	Phase       Phase                `json:"phase"`
	Queue       *Queue               `json:"queue,omitempty"` // the wait before the start; kept afterwards
	Supervisor  runtime.Process      `json:"supervisor"`
	ImageID     runtime.ImageID      `json:"image_id,omitempty"`
	Network     *runtime.Network     `json:"network,omitempty"`
	Lists       *Lists               `json:"lists,omitempty"`   // the current lists of the egress proxy; nil without one
	ContainerID string               `json:"box,omitempty"`     // the daemon's id
	Sandbox     runtime.Process      `json:"sandbox"`           // the sandbox's process on the host
	Watchdog    runtime.Process      `json:"watchdog,omitzero"` // ends the sandbox when the supervisor dies
	Workspace   *workspace.Workspace `json:"workspace,omitempty"`
	Degraded    []string             `json:"degraded,omitempty"` // limits that are not enforced, a clause each
	Output      agents.Output        `json:"output,omitzero"`    // the format of the agent's output
	Terminal    TerminalSize         `json:"terminal,omitzero"`  // terminal of an interactive agent, at its start
	Started     time.Time            `json:"started,omitzero"`   // when the agent started
	Ended       time.Time            `json:"ended,omitzero"`
	Result      *Result              `json:"result,omitempty"`      // present once Ended; partial while Computing and Verifying
	VerifyFrom  int64                `json:"verify_from,omitempty"` // offset of a verification's output in the record
	Review      Review               `json:"review,omitempty"`
	Branch      string               `json:"branch,omitempty"` // the branch that an accept created
	// ContinuedBy is the session that took over the workspace of this one.
	ContinuedBy ID `json:"continued_by,omitempty"`
	// Labels are a sandbox's name and metadata after a change; nil means those in its spec.
	Labels *Labels `json:"labels,omitempty"`
	// IdleTimeout is how long a sandbox may be idle, after a change of that, in nanoseconds;
	// nil means as in its spec, and 0 means no limit.
	IdleTimeout *time.Duration `json:"idle_timeout,omitempty"`

	Expires time.Time `json:"expires,omitzero"` // end of a sandbox's time; zero without a limit and while it is paused
	Paused  time.Time `json:"paused,omitzero"`  // when a sandbox was paused; zero if it is not
}

// TerminalSize is the size of a terminal, in cells. Zero means unknown.
type TerminalSize struct {
	Rows int `json:"rows"`
	Cols int `json:"cols"`
}

// Result is how a session ended.
type Result struct {
	ExitCode int          `json:"exit_code"`        // the agent's exit code; -1 if it never ended by itself
	Signal   int          `json:"signal,omitempty"` // the signal that ended it, or 0
	Fault    *Failure     `json:"fault,omitempty"`  // why the session failed
	Changed  bool         `json:"changed"`
	Changes  Changes      `json:"changes"`
	Refused  []Refusal    `json:"refused"` // accesses refused by the network, most frequent first, at most 50
	Egress   Egress       `json:"egress,omitzero"`
	Tokens   Tokens       `json:"tokens"`
	Models   []ModelUsage `json:"models,omitempty"`  // the same by model, the most used first
	Seconds  float64      `json:"seconds"`           // from the agent's start to its end
	Commits  []string     `json:"commits,omitempty"` // subjects of the agent's own commits, raw
	Dropped  int64        `json:"dropped,omitempty"` // bytes of output beyond the record's limit
	Left     bool         `json:"left,omitempty"`    // the agent left processes running, which aibox ended
	// ModelFailures is present when requests to the model failed.
	ModelFailures *ModelFailures `json:"model_failures,omitempty"`
	// ModelSilence is the longest wait for the model's answer in seconds, if it was long
	// enough to be reported.
	ModelSilence float64  `json:"model_silence_seconds,omitempty"`
	Notes        []string `json:"notes,omitempty"` // other notes for the user, escaped
	// Verification is present if the session has a command that verifies the work.
	Verification *Verification `json:"verification,omitempty"`
}

// ModelFailures summarizes failed requests to the model.
type ModelFailures struct {
	Count   int    `json:"count"`
	Status  int    `json:"status"`  // status of the last one
	Message string `json:"message"` // message of the last one, a clause, escaped
}

// Changes summarizes a change set.
type Changes struct {
	Tree    string   `json:"tree,omitempty"` // the agent's tree in the host-owned repository
	Files   int      `json:"files"`
	Added   int      `json:"added"`             // lines
	Deleted int      `json:"deleted"`           // lines
	Refused int      `json:"refused,omitempty"` // files that cannot be accepted
	Notes   []string `json:"notes,omitempty"`   // raw: escape before printing

	// Unknown is the reason why the changes are unknown: a clause, raw, empty if they are
	// known. Tries is the number of attempts to compute them that did not complete.
	Unknown string `json:"unknown,omitempty"`
	Tries   int    `json:"tries,omitempty"`
	// Disk reports that they are unknown because a disk was full. They are computed again when
	// it has free space.
	Disk bool `json:"disk,omitempty"`
}

// Refusal is a network access that was refused to the sandbox, with its count.
type Refusal struct {
	What   string `json:"what"` // as Access.What
	Target string `json:"target"`
	Reason string `json:"reason"`
	Times  int    `json:"times"`
}

// Tokens counts the tokens that the model read and wrote, as its server reported them. In
// JSON it is null if unknown.
type Tokens struct {
	Requests int `json:"requests"`
	Input    int `json:"input"`
	Output   int `json:"output"`
	// Unknown is the number of requests whose tokens the server did not report. They are not
	// in Input and Output.
	Unknown int `json:"unknown,omitempty"`
	// Cached is the part of Input that came from the server's cache.
	Cached int `json:"cached,omitempty"`
	// Cost is the cost of the tokens in US dollars, by list prices or the user's own.
	Cost float64 `json:"cost_usd,omitempty"`
	// Unpriced is the number of requests to models whose price is unknown. They are not in
	// Cost.
	Unpriced int `json:"unpriced,omitempty"`

	Lost bool `json:"-"` // the numbers are unknown, because aibox could not store them
}

// String formats the numbers.
func (t Tokens) String() string {
	if t.Lost {
		return "tokens unknown"
	}
	text := fmt.Sprintf("%d tokens in, %d out", t.Input, t.Output)
	if cost := t.CostText(); cost != "" {
		text += ", " + cost
	}
	return text
}

// CostText describes the cost; empty if there is none, as with models that run on this
// machine.
func (t Tokens) CostText() string {
	switch {
	case t.Lost || t.Cost == 0 && t.Unpriced == 0:
		return ""
	case t.Cost == 0:
		return "cost unknown"
	case t.Unpriced > 0:
		return "at least " + amount.Cost(t.Cost)
	default:
		return amount.Cost(t.Cost)
	}
}

// Failure is a fault as stored in files and JSON output.
type Failure struct {
	Kind    string   `json:"kind"`
	Message string   `json:"message"`
	Hints   []string `json:"hints,omitempty"`
	Code    int      `json:"exit_code"` // the exit code of aibox
}

// FailureOf describes err, or returns nil when err is nil.
func FailureOf(err error) *Failure {
	if err == nil {
		return nil
	}
	kind := fault.KindOf(err)
	return &Failure{Kind: kind.String(), Message: err.Error(), Hints: fault.Hints(err), Code: kind.ExitCode()}
}

// Err returns the failure as an error, or nil.
func (f *Failure) Err() error {
	if f == nil {
		return nil
	}
	kind := fault.ParseKind(f.Kind)
	return &fault.Fault{Kind: kind, Message: f.Message, Hints: f.Hints}
}

// Session is a session as stored on disk.
type Session struct {
	Spec
	State State `json:"state"`
	// Alive reports whether a supervisor holds the session.
	Alive bool `json:"alive"`
	// Waiting reports whether its agent waits for the user; see Live.
	Waiting bool `json:"waiting,omitempty"`
	// Position is the session's place in the queue, from 1; 0 if it is not queued.
	Position int `json:"position,omitempty"`
}

// ModelUsage is a session's usage of one model.
type ModelUsage struct {
	Model  string `json:"model"` // raw
	Tokens Tokens `json:"tokens"`
}

// Now returns the current time as records store it.
func Now() time.Time { return time.Now().UTC() }
