package lifeline

import (
	"encoding/json"
	"fmt"
	"strings"

	"aibox/internal/probe"
)

// Version is the protocol's version. The init is embedded in aibox, so the two
// sides always agree; another number means a foreign binary.
const Version = 7

// Hello is the first frame, from init.
type Hello struct {
	Version int    `json:"version"`
	Kernel  string `json:"kernel"` // uname of the sandbox; under gVisor it is gVisor's
	// Proof is that of the Freeze from which a restored sandbox continues; empty in a sandbox
	// that was started.
	Proof []byte `json:"proof,omitempty"`
}

// ProbeResult is the result of one probe of the plan.
type ProbeResult struct {
	Place  int          `json:"place"` // of the probe in the plan
	Result probe.Result `json:"result"`
}

// Start is the request to run the agent. It is sent once, after the probes.
type Start struct {
	Argv []string `json:"argv"`
	// Env is NAME=VALUE. It is added to the image's environment (PATH, HOME, variables of
	// the image); the agent gets no other variables.
	Env []string `json:"env,omitempty"`
	Dir string   `json:"dir,omitempty"` // working directory; empty means /workspace if it exists, else /
	// Files are written before the agent starts. "~/" in a path is the image's HOME.
	Files []File `json:"files,omitempty"`
	// Authority is a certificate authority, as PEM, that the programs of the sandbox trust
	// besides the image's own.
	Authority []byte `json:"authority,omitempty"`
	// SSHAgent, unless it is nil, is a Unix socket through which programs reach the user's
	// ssh-agent.
	SSHAgent *SSHAgent `json:"ssh_agent,omitempty"`
	TTY      bool      `json:"tty,omitempty"`
	Rows     uint16    `json:"rows,omitempty"` // of the PTY; 0 means 24
	Cols     uint16    `json:"cols,omitempty"` // of the PTY; 0 means 80
	// Stdin connects the input frames. Without it (and without TTY) the agent
	// reads an empty input.
	Stdin  bool   `json:"stdin,omitempty"`
	Nproc  uint64 `json:"nproc,omitempty"`  // limit of processes, each thread counted; 0 means no limit
	NoFile uint64 `json:"nofile,omitempty"` // limit of descriptors; 0 means 65536
	// Idle starts no agent: Argv is empty, TypeStarted follows without a PID, and the sandbox
	// lives until Stop.
	Idle bool `json:"idle,omitempty"`
	// Account is the user of an idle sandbox; nil means only root.
	Account *Account `json:"account,omitempty"`
	// Baseline is the commit in Dir's repository that the agent starts from. Exit.Commits
	// lists the agent's commits on top of it; none if Baseline is empty.
	Baseline string `json:"baseline,omitempty"`
}

// SSHAgent is a Unix socket on which init listens. It connects each connection through an HTTP
// proxy.
type SSHAgent struct {
	Path   string `json:"path"`
	Proxy  string `json:"proxy"`  // HOST:PORT
	Target string `json:"target"` // HOST:PORT that the proxy connects to
}

// Account is a user that init adds to the sandbox, and the files that it can access there.
type Account struct {
	// Name is that of a user of the image, or of one that init adds with a home folder.
	Name string `json:"name"`
	// Folders are made if they do not exist, and belong to the user.
	Folders []string `json:"folders,omitempty"`
	// Confine removes the user's write access to everything but Folders and /tmp.
	Confine bool `json:"confine,omitempty"`
	// Hidden are patterns of files, as in filepath.Match, that only root can read and write.
	Hidden []string `json:"hidden,omitempty"`
}

// File is a file that init writes. It creates missing folders.
type File struct {
	Path string `json:"path"`           // absolute, or "~/…"
	Mode uint32 `json:"mode,omitempty"` // permission bits; 0 means 0600
	Data []byte `json:"data"`
	Keep bool   `json:"keep,omitempty"` // leaves a file of the image as it is
}

// Resize sets the size of the PTY.
type Resize struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

// Signal requests a signal to the agent's process group.
type Signal struct {
	Number int `json:"number"` // 1 to 31
}

// Stop ends every process of the sandbox: SIGTERM, and SIGKILL after the grace. An Exit
// follows. Before Start it ends the sandbox without running an agent.
type Stop struct {
	Grace int `json:"grace"` // milliseconds
}

// Started reports that the agent runs, or that an idle sandbox is ready.
type Started struct {
	PID  int    `json:"pid,omitempty"`  // inside the sandbox; 0 if it is idle
	Home string `json:"home,omitempty"` // of the account, if there is one
}

// Exit reports how the agent ended.
type Exit struct {
	// Code is the agent's exit code, or 128 + Signal.
	Code    int      `json:"code"`
	Signal  int      `json:"signal,omitempty"`
	Left    bool     `json:"left,omitempty"`    // it left running processes, which were ended
	Commits []string `json:"commits,omitempty"` // "abbreviated-id subject", newest first, at most 200; the agent's bytes: escape
	Tasks   uint64   `json:"tasks,omitempty"`   // as Tasks.Count, if they exceeded the limit
}

// Tasks reports that the sandbox has nearly as many tasks, which are processes and threads, as
// Start.Nproc allows, or that it had more.
type Tasks struct {
	Count uint64 `json:"count"`
	Ended bool   `json:"ended,omitempty"` // they exceeded the limit, so init has killed them
}

// Error reports a failure of init. If the agent could not be started, Exit follows: with
// code 127 if there is no such program, 126 if it cannot be run, 125 if init itself failed.
type Error struct {
	Text string `json:"text"` // may hold bytes of the agent or the image: escape
}

// Limits of the texts of init, in bytes.
const (
	maxText = 4 << 10
	maxHome = 4096 // the kernel's PATH_MAX
)

// bounded is a message with texts of init, each of which could be as long as a message. Others
// repeat them: in errors, in the log, in lists of processes.
type bounded interface{ bound() }

func (m *Hello) bound()       { m.Kernel = cut(m.Kernel) }
func (m *ProbeResult) bound() { m.Result.Detail = cut(m.Result.Detail) }
func (m *Error) bound()       { m.Text = cut(m.Text) }
func (m *Started) bound()     { m.Home = homeOf(m.Home) }
func (m *Restored) bound()    { m.Home = homeOf(m.Home) }
func (m *Frozen) bound()      { m.Error = cut(m.Error) }
func (m *ProcessExit) bound() { m.Error = cut(m.Error) }
func (m *DialFailed) bound()  { m.Error = cut(m.Error) }
func (m *Ports) bound()       { m.Error = cut(m.Error) }

// cut returns the beginning of a text.
func cut(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "…"
}

// homeOf returns a home, or "" if it is too long for one.
func homeOf(home string) string {
	if len(home) > maxHome {
		return ""
	}
	return home
}

// Decode reads a frame's JSON into a T. Unknown fields are ignored, and long texts of init are cut.
func Decode[T any](f Frame) (T, error) {
	var v T
	if err := json.Unmarshal(f.Payload, &v); err != nil {
		return v, fmt.Errorf("%w: frame %#x: %w", ErrProtocol, f.Type, err)
	}
	if m, ok := any(&v).(bounded); ok {
		m.bound()
	}
	return v, nil
}
