// Package run holds the typed request for a run, which the command line, the terminal UI,
// reruns and resumed sessions share. It validates a request and fills in missing values
// (Runner.Resolve), starts the resulting plan (Runner.Start), and prints the equivalent
// command line. It also stores the last choices for each repository. It prints nothing to a
// terminal, parses no command line, and knows no adapter: package app provides access to
// the daemon.
package run

import (
	"maps"
	"slices"
	"strings"

	"aibox/config"
	"aibox/internal/secret"
	"aibox/session"
)

// Request describes one run. The zero value leaves everything to the
// settings. Its JSON is the file of last choices: it holds neither the task, nor
// arguments, nor secrets.
type Request struct {
	Agent       string `json:"agent,omitempty"`       // empty means the default agent; several, separated by commas: see Members
	Repository  string `json:"-"`                     // a path or a URL; empty means the current directory
	Branch      string `json:"-"`                     // a branch, tag or commit; empty means the checked-out one
	Prompt      string `json:"-"`                     // the task
	Interactive bool   `json:"interactive,omitempty"` // on a terminal, with the user
	Detached    bool   `json:"-"`                     // nothing waits for the end
	Resumes     string `json:"-"`                     // a session, by its id or a unique prefix of it
	Forks       string `json:"-"`                     // a session whose work is copied, by its id or a unique prefix of it
	NoFeedback  bool   `json:"-"`                     // the feedback on the resumed session is not sent
	Times       int    `json:"-"`                     // number of sessions for each agent and model; 0 means one

	// Batch is the batch that a request for one session belongs to; see Members.
	Batch session.BatchID `json:"-"`

	// Settings are the settings of this run itself.
	Settings config.RunOverrides `json:"settings,omitzero"`
	// Options are the agent's own options that this run sets, in the format of spec.Field.Set,
	// by key.
	Options map[string]string `json:"options,omitempty"`
	// Secrets are the agent's secret options, by key. Those of the environment may be missing.
	Secrets map[string]secret.Value `json:"-"`
	Args    []string                `json:"-"` // the arguments after "--"
}

// settingOrder is the order of settings in forms and on command lines. Settings that it
// does not name come last.
var settingOrder = []string{
	"model", "inference", "inference-tools", "max-upload", "max-tokens", "max-cost", "model-timeout", "network", "allow", "deny", "ask", "ask-timeout", "egress-upload", "egress-download", "egress-upload-host", "egress-download-host", "inspect", "secret", "ssh-agent", "learn", "timeout", "idle-timeout", "max-parallel", "memory", "cpus", "pids", "disk", "state-size", "max-output", "allow-degraded", "hide", "read-only", "mount", "clean", "system", "verify", "verify-timeout", "accept", "env", "image",
}

// SettingKeys returns the keys of all settings of a run, in the order of forms.
func SettingKeys() []string {
	keys := slices.Clone(settingOrder)
	for _, field := range config.RunFields() {
		if !slices.Contains(keys, field.Key) {
			keys = append(keys, field.Key)
		}
	}
	return keys
}

// FormKeys returns the keys of the settings in forms: all except require-changes, which is
// for scripts.
func FormKeys() []string {
	return slices.DeleteFunc(SettingKeys(), func(key string) bool { return key == "require-changes" })
}

// Clone returns a copy that shares nothing with r.
func (r Request) Clone() Request {
	r.Settings, r.Options, r.Secrets, r.Args = r.Settings.Clone(), maps.Clone(r.Options), maps.Clone(r.Secrets), slices.Clone(r.Args)
	return r
}

// Equal reports whether both requests ask for the same run.
func (r Request) Equal(other Request) bool {
	return r.Agent == other.Agent && r.Repository == other.Repository && r.Branch == other.Branch && r.Prompt == other.Prompt &&
		r.Interactive == other.Interactive && r.Detached == other.Detached && r.Resumes == other.Resumes && r.Forks == other.Forks && r.NoFeedback == other.NoFeedback && r.Times == other.Times && r.Batch == other.Batch &&
		r.Settings.Equal(other.Settings) && maps.Equal(r.Options, other.Options) && maps.Equal(r.Secrets, other.Secrets) && slices.Equal(r.Args, other.Args)
}

// Shortened returns r with its prompt and arguments cut to at most length bytes each,
// for a preview.
func (r Request) Shortened(length int) Request {
	cut := func(text string) string { return strings.ToValidUTF8(text[:min(len(text), length)], "") }
	r.Prompt, r.Args = cut(r.Prompt), slices.Clone(r.Args)
	for i, arg := range r.Args {
		r.Args[i] = cut(arg)
	}
	return r
}

// repository returns the request's repository for functions that read settings and prompts.
func (r Request) repository() string {
	if r.Repository == "" {
		return "."
	}
	return r.Repository
}
