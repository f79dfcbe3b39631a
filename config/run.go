package config

import (
	"slices"

	"aibox/internal/amount"
)

// Run holds the settings of one run. A new setting needs only a field: from it and its tags
// come the flag of `aibox run` with the same name, its completion, the question of the
// forms, the key of settings files and its variable, what reruns and resumed sessions
// inherit (tag inherit), and the key in a session's record (tag json).
//
// The record of an earlier version does not have the key of a newer setting. So a json key
// has no omitempty, unless that version behaved as zero does.
type Run struct {
	Network            string          `json:"network" label:"Network" help:"Set what the agent can reach" choices:"none local allowlist public" default:"local" scope:"at-most" inherit:"always"`
	Allow              []string        `json:"allow,omitzero" label:"Allowed hosts" help:"Allow these hosts: HOST, HOST:PORT, *.DOMAIN or a preset such as npm" scope:"at-most" placeholder:"HOST" inherit:"always"`
	Deny               []string        `json:"deny,omitempty" label:"Denied hosts" help:"Deny these hosts, even if another setting allows them" scope:"at-least" placeholder:"HOST" inherit:"always"`
	Ask                bool            `json:"ask,omitempty" label:"Ask" help:"Ask you about each host that is not allowed, while the connection waits" scope:"at-most" inherit:"always"`
	AskTimeout         amount.Duration `json:"ask_timeout" label:"Ask timeout" help:"Refuse a connection that waited this long for an answer" default:"1m" min:"1s" max:"1h" scope:"at-most" inherit:"always"`
	EgressUpload       amount.MiB      `json:"egress_upload" label:"Egress upload limit" help:"Limit how much a session sends to allowed hosts" zero:"no limit" default:"256MiB" min:"0" max:"1TiB" scope:"at-most" placeholder:"SIZE" inherit:"always"`
	EgressDownload     amount.MiB      `json:"egress_download" label:"Egress download limit" help:"Limit how much a session receives from allowed hosts" zero:"no limit" default:"10GiB" min:"0" max:"1TiB" scope:"at-most" placeholder:"SIZE" inherit:"always"`
	EgressUploadHost   amount.MiB      `json:"egress_upload_host,omitempty" label:"Egress upload limit per host" help:"Limit how much a session sends to each of the allowed hosts" zero:"no limit" default:"0" min:"0" max:"1TiB" scope:"at-most" placeholder:"SIZE" inherit:"always"`
	EgressDownloadHost amount.MiB      `json:"egress_download_host,omitempty" label:"Egress download limit per host" help:"Limit how much a session receives from each of the allowed hosts" zero:"no limit" default:"0" min:"0" max:"1TiB" scope:"at-most" placeholder:"SIZE" inherit:"always"`
	Inspect            []string        `json:"inspect,omitempty" label:"Inspected hosts" help:"Decrypt the traffic to these hosts in the egress proxy" placeholder:"HOST" inherit:"always"`
	Secret             []string        `json:"secret,omitempty" label:"Injected secrets" help:"Add the value of your environment variable NAME, or of [secrets.NAME] in your settings, to requests to HOST, outside the sandbox" placeholder:"NAME=HOST:HEADER" inherit:"always"`
	SSHAgent           []string        `json:"ssh_agent,omitempty" label:"SSH agent" help:"Let your ssh-agent sign the sandbox's logins to this SSH server as this user" placeholder:"USER@HOST" inherit:"always"`
	Learn              bool            `json:"learn,omitempty" label:"Learn" help:"Propose an allow list after a run under the policy public"`
	Inference          string          `json:"inference" label:"Inference" help:"Use this model server: auto, a provider's name or a URL" default:"auto" placeholder:"SERVER" inherit:"always"`
	Model              string          `json:"model,omitempty" label:"Model" help:"Use this model; required if the server has several" type:"model" placeholder:"ID" inherit:"always"`
	Image              string          `json:"image" label:"Image" help:"Use this image instead of the agent's" placeholder:"REF" inherit:"always"`
	Timeout            amount.Duration `json:"timeout" label:"Time limit" help:"End a session after this time" zero:"no limit" default:"1h" min:"0s" scope:"at-most" inherit:"always"`
	IdleTimeout        amount.Duration `json:"idle_timeout,omitempty" label:"Idle time limit" help:"End a session that neither prints, reads input nor uses the network for this time" zero:"no limit" default:"30m" min:"0s" scope:"at-most" inherit:"always"`
	Pids               int             `json:"pids" label:"Processes" help:"Limit the processes in the sandbox" zero:"no limit" default:"4096" min:"0" max:"4194304" scope:"at-most" inherit:"always"`
	Memory             amount.MiB      `json:"memory,omitempty" label:"Memory" help:"Limit the memory of the sandbox" zero:"no limit" default:"auto" min:"0" max:"1024TiB" auto:"a quarter of this machine's memory, from 2 to 8 GiB" scope:"at-most" placeholder:"SIZE" inherit:"always"`
	CPUs               amount.Decimal  `json:"cpus,omitempty" label:"Processors" help:"Limit the processors that the sandbox can use at once, such as 2 or 1.5" zero:"no limit" default:"auto" min:"0" max:"65536" auto:"all of this machine's processors but one, and all if there are fewer than four" scope:"at-most" placeholder:"NUMBER" inherit:"always"`
	InferenceTools     []string        `json:"inference_tools,omitempty" label:"Server-side tools" help:"Allow tools that run on the model's server; each is a way out of the sandbox" choices:"web-search web-fetch code-execution file-search mcp image-generation computer-use" placeholder:"TOOLS" inherit:"rerun"`
	MaxUpload          amount.MiB      `json:"max_upload,omitempty" label:"Upload limit" help:"Limit how much a session sends to the model" zero:"no limit" default:"1GiB" min:"0" max:"1TiB" scope:"at-most" placeholder:"SIZE" inherit:"always"`
	MaxTokens          int             `json:"max_tokens,omitempty" label:"Token limit" help:"Limit the tokens that a session reads and writes" zero:"no limit" default:"0" min:"0" max:"1000000000000" scope:"at-most" placeholder:"TOKENS" inherit:"always"`
	MaxCost            amount.USD      `json:"max_cost,omitempty" label:"Cost limit" help:"Limit the US dollars that a session's model costs" zero:"no limit" default:"0" min:"0" max:"1000000" scope:"at-most" placeholder:"USD" inherit:"always"`
	ModelTimeout       amount.Duration `json:"model_timeout" label:"Model timeout" help:"End a session if its model sends nothing for this time" zero:"no limit" default:"10m" min:"0s" scope:"at-most" inherit:"always"`
	StateSize          amount.MiB      `json:"state_limit" label:"Conversation folders" help:"Limit the size of the agent's conversation folders" zero:"no limit" default:"512MiB" min:"0" max:"1TiB" scope:"at-most" placeholder:"SIZE" inherit:"always"`
	Disk               amount.MiB      `json:"disk_limit,omitempty" label:"Workspace growth" help:"Limit how much the workspace grows" zero:"no limit" default:"auto" min:"0" max:"1TiB" auto:"a quarter of the free disk space, and at most 10 GiB" scope:"at-most" placeholder:"SIZE" inherit:"always"`
	MaxOutput          amount.MiB      `json:"output_limit,omitempty" label:"Output limit" help:"Limit how much the agent prints" zero:"no limit" default:"256MiB" min:"0" max:"64GiB" scope:"at-most" placeholder:"SIZE" inherit:"always"`
	Hide               []string        `json:"hide" label:"Hidden files" help:"Hide files that match these .gitignore patterns, in addition to .env files and private keys; !PATTERN unhides files" scope:"at-least" placeholder:"PATTERN" inherit:"always"`
	ReadOnly           []string        `json:"read_only,omitempty" label:"Read-only files" help:"Leave out the agent's changes of files that match these .gitignore patterns" scope:"at-least" placeholder:"PATTERN" inherit:"always"`
	Mount              []string        `json:"mount,omitempty" label:"Mounts" help:"Let the agent read these folders or files of yours, at the given paths in the sandbox" placeholder:"SOURCE:TARGET" inherit:"always"`
	Env                []string        `json:"env,omitempty" label:"Environment" help:"Pass these of your environment variables to the agent" scope:"at-most" placeholder:"NAME[=VALUE]" inherit:"rerun"`
	System             []string        `json:"-" label:"System prompts" help:"Put these system prompts before the task" scope:"repository" placeholder:"NAME" inherit:"always"`
	Clean              bool            `json:"clean,omitempty" label:"Clean" help:"Leave out uncommitted and untracked files" scope:"at-least" inherit:"always"`
	Accept             string          `json:"-" label:"Accept" help:"Accept the changes when the agent is done" choices:"none branch worktree" default:"none" scope:"at-most"`
	RequireChanges     bool            `json:"-" label:"Require changes" help:"Exit with code 1 if the agent changed nothing" scope:"at-least"`
	Verify             string          `json:"verify,omitempty" label:"Verify" help:"Verify the agent's work with this command, in a separate sandbox" placeholder:"COMMAND" inherit:"always"`
	VerifyTimeout      amount.Duration `json:"verify_timeout,omitzero" label:"Verification time limit" help:"End the verification after this time" zero:"no limit" default:"10m" min:"0s" inherit:"always"`
	Sandboxes          int             `json:"sandboxes,omitempty" label:"Own sandboxes" help:"Let the agent create up to this many sandboxes of its own, within its own limits" default:"0" min:"0" max:"16" zero:"none" scope:"at-most" placeholder:"NUMBER" inherit:"always"`
	MaxParallel        int             `json:"max_parallel,omitempty" label:"Sessions at once" help:"Queue a session while this many others run" zero:"no limit" default:"0" min:"0" max:"1000" scope:"at-most" placeholder:"NUMBER"`
	AllowDegraded      bool            `json:"allow_degraded,omitempty" label:"Allow degraded limits" help:"Run even if this machine cannot enforce a limit"`
}

// MaxGrowth is the largest default of Run.Disk, which depends on the free disk space.
const MaxGrowth amount.MiB = 10 << 10

// proxySettings are the settings that have an effect only under a policy with a proxy.
var proxySettings = []string{"allow", "deny", "ask", "ask-timeout", "egress-upload", "egress-download", "egress-upload-host", "egress-download-host", "inspect", "secret", "ssh-agent", "learn"}

// IsProxySetting reports whether the setting has an effect only under a network policy with
// an egress proxy.
func IsProxySetting(key string) bool { return slices.Contains(proxySettings, key) }

// Visible reports whether the setting has an effect given the others. Forms show only such
// settings.
func (r *Run) Visible(key string) bool {
	switch {
	case !IsProxySetting(key):
		return true
	case r.Network != "allowlist" && r.Network != "public":
		return false
	case key == "ask-timeout":
		return r.Ask
	case key == "learn":
		return r.Network == "public"
	default:
		return true
	}
}
