package e2e

import (
	"encoding/json"
	"time"
)

// report is the JSON of `aibox run --json`. Its fields are the contract with
// scripts: one that is gone, renamed or new has to be changed here, too.
type report struct {
	ID      string            `json:"id"`
	Created time.Time         `json:"created"`
	Agent   string            `json:"agent"`
	Options map[string]string `json:"options"`
	Prompt  string            `json:"prompt"`
	System  []struct {
		Name string `json:"name"`
		Text string `json:"text"`
	} `json:"system"`
	Resumes     string   `json:"resumes"`
	Batch       string   `json:"batch"`
	Forks       string   `json:"forks"`
	Interactive bool     `json:"interactive"`
	Args        []string `json:"args"`
	Repository  string   `json:"repository"`
	Branch      string   `json:"branch"`
	Clean       bool     `json:"clean"`
	Hide        []string `json:"hide"`
	ReadOnly    []string `json:"read_only"`
	Mount       []string `json:"mount"`
	Network     string   `json:"network"`
	Inference   string   `json:"inference"`
	Model       string   `json:"model"`
	Tools       []string `json:"inference_tools"`
	MaxUpload   int64    `json:"max_upload"`
	MaxTokens   int64    `json:"max_tokens"`
	MaxCost     float64  `json:"max_cost"`
	Allow       []string `json:"allow"`
	Deny        []string `json:"deny"`
	Ask         bool     `json:"ask"`
	AskTimeout  string   `json:"ask_timeout"`
	Upload      int64    `json:"egress_upload"`
	Download    int64    `json:"egress_download"`
	Inspect     []string `json:"inspect"`
	Learn       bool     `json:"learn"`

	Secret     json.RawMessage `json:"secret"`
	CloudHosts json.RawMessage `json:"cloud_hosts"`

	Sources map[string]string `json:"sources"`

	Env        []string `json:"env"`
	Image      string   `json:"image"`
	Timeout    string   `json:"timeout"`
	Pids       int      `json:"pids"`
	StateLimit int64    `json:"state_limit"`
	Degraded   bool     `json:"allow_degraded"`
	Verify     string   `json:"verify"`

	VerifyTimeout string `json:"verify_timeout"`
	ModelTimeout  string `json:"model_timeout"`
	NoFeedback    bool   `json:"no_feedback"`
	Feedback      string `json:"feedback"`

	MaxParallel   int     `json:"max_parallel"`
	Sandboxes     int     `json:"sandboxes"`
	Memory        int64   `json:"memory"`
	DefaultMemory bool    `json:"default_memory"`
	CPUs          float64 `json:"cpus"`
	IdleTimeout   string  `json:"idle_timeout"`
	DiskLimit     int64   `json:"disk_limit"`
	OutputLimit   int64   `json:"output_limit"`

	Alive    bool `json:"alive"`
	Position int  `json:"position"`
	State    struct {
		Phase       string          `json:"phase"`
		Queue       json.RawMessage `json:"queue"`
		Supervisor  json.RawMessage `json:"supervisor"`
		ImageID     string          `json:"image_id"`
		Network     json.RawMessage `json:"network"`
		Lists       json.RawMessage `json:"lists"`
		Container   string          `json:"box"`
		Sandbox     json.RawMessage `json:"sandbox"`
		Watchdog    json.RawMessage `json:"watchdog"`
		Workspace   json.RawMessage `json:"workspace"`
		Degraded    []string        `json:"degraded"`
		Output      json.RawMessage `json:"output"`
		Terminal    json.RawMessage `json:"terminal"`
		Started     time.Time       `json:"started"`
		Ended       time.Time       `json:"ended"`
		Result      *result         `json:"result"`
		Review      string          `json:"review"`
		Branch      string          `json:"branch"`
		ContinuedBy string          `json:"continued_by"`
		VerifyFrom  int64           `json:"verify_from"`
	} `json:"state"`
	Files []struct {
		Path    string   `json:"path"`
		OldPath string   `json:"old_path"`
		Kind    string   `json:"kind"`
		OldMode string   `json:"old_mode"`
		NewMode string   `json:"new_mode"`
		OldBlob string   `json:"old_blob"`
		NewBlob string   `json:"new_blob"`
		Size    int64    `json:"size"`
		Binary  bool     `json:"binary"`
		Added   int      `json:"added"`
		Deleted int      `json:"deleted"`
		Notes   []string `json:"notes"`
		LFS     *struct {
			OldOID  string `json:"old_oid"`
			OldSize int64  `json:"old_size"`
			NewOID  string `json:"new_oid"`
			NewSize int64  `json:"new_size"`
			Pointer bool   `json:"pointer"`
		} `json:"lfs"`
		Risks []risk `json:"risks"`
	} `json:"files"`
	Rules   string `json:"rules"`
	Refused []struct {
		Path   string `json:"path"`
		Reason string `json:"reason"`
	} `json:"refused_files"`
	Accepted *struct {
		Target      string   `json:"target"`
		Branch      string   `json:"branch"`
		Commit      string   `json:"commit"`
		Uncommitted string   `json:"uncommitted"`
		Files       int      `json:"files"`
		Paths       []string `json:"paths"`
		Repo        string   `json:"repo"`
		Tree        string   `json:"tree"`
		Left        []struct {
			Path  string `json:"path"`
			Risks []risk `json:"risks"`
		} `json:"left"`
	} `json:"accepted"`
	Error *struct {
		failure
		Session string `json:"session"`
	} `json:"error"`
}

// risk is what a changed file would do, or holds.
type risk struct {
	Rule     string `json:"rule"`
	Title    string `json:"title"`
	Runs     string `json:"runs"`
	When     string `json:"when"`
	By       string `json:"by"`
	Found    string `json:"found"`
	Line     int    `json:"line"`
	Severity string `json:"severity"`
}

func (r report) result() *result { return r.State.Result }
