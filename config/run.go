package config

import "aibox/internal/amount"

// Run holds the settings of one run. A field is all that a new setting needs: from it and
// its tags come the flag of `aibox run` with the same name, its completion, the question
// of the forms, the key of settings files and its variable, what reruns and resumed
// sessions inherit (tag inherit), and the key in a session's record (tag json).
//
// The record of an earlier version does not have the key of a newer setting. So a json
// key goes without omitempty, unless zero is what that version did.
type Run struct {
	Network        string          `json:"network" label:"Network" help:"What the agent can reach" choices:"none local" default:"local" scope:"at-most" inherit:"always"`
	Inference      string          `json:"inference" label:"Inference" help:"The model server: auto, a provider's name or a URL" default:"auto" placeholder:"SERVER" inherit:"always"`
	Model          string          `json:"model,omitempty" label:"Model" help:"The model; needed when the server has several" type:"model" placeholder:"ID" inherit:"always"`
	Image          string          `json:"image" label:"Image" help:"Another image than the agent's own" placeholder:"REF" inherit:"always"`
	Timeout        amount.Duration `json:"timeout" label:"Time limit" help:"End a session after this time; 0 for no limit" default:"1h" min:"0s" scope:"at-most" inherit:"always"`
	Pids           int             `json:"pids" label:"Processes" help:"Most processes in the sandbox; 0 for no limit" default:"4096" min:"0" max:"4194304" scope:"at-most" inherit:"always"`
	InferenceTools []string        `json:"inference_tools,omitempty" label:"Server-side tools" help:"Tools of the model's server that agents may use; each is a way out of the sandbox" choices:"web-search web-fetch code-execution file-search mcp image-generation computer-use" placeholder:"TOOLS" inherit:"rerun"`
	MaxUpload      amount.MiB      `json:"max_upload,omitempty" label:"Upload limit" help:"Most MiB that a session sends to the model; 0 for no limit" default:"1024" min:"0" max:"1048576" scope:"at-most" placeholder:"MIB" inherit:"always"`
	MaxTokens      int             `json:"max_tokens,omitempty" label:"Token limit" help:"Most tokens that a session uses, read and written; 0 for no limit" default:"0" min:"0" max:"1000000000000" scope:"at-most" placeholder:"TOKENS" inherit:"always"`
	ModelTimeout   amount.Duration `json:"model_timeout" label:"Model timeout" help:"End a session whose model gives no piece of an answer for this time; 0 for no limit" default:"10m" min:"0s" scope:"at-most" inherit:"always"`
	StateSize      amount.MiB      `json:"state_limit" label:"Conversation folders" help:"Most megabytes that the agent's conversation folders may take; 0 for no limit" default:"512" min:"0" max:"1048576" scope:"at-most" placeholder:"MEGABYTES" inherit:"always"`
	Hide           []string        `json:"hide" label:"Hidden files" help:".gitignore patterns of files to hide from the agent, in addition to .env files and private keys; !PATTERN unhides files" scope:"at-least" placeholder:"PATTERN" inherit:"always"`
	Env            []string        `json:"env,omitempty" label:"Environment" help:"Names of your variables that the agent gets, where you have them" scope:"at-most" placeholder:"NAME[=VALUE]" inherit:"rerun"`
	System         []string        `json:"-" label:"System prompts" help:"Names of system prompts to put before the task" scope:"repository" placeholder:"NAME" inherit:"always"`
	Clean          bool            `json:"clean,omitempty" label:"Clean" help:"Leave uncommitted and untracked work out" scope:"at-least" inherit:"always"`
	Accept         string          `json:"-" label:"Accept" help:"What to do with the changes at the end" choices:"none branch worktree" default:"none" scope:"at-most"`
	RequireChanges bool            `json:"-" label:"Require changes" help:"Exit 1 when the agent changed nothing" scope:"at-least"`
	Verify         string          `json:"verify,omitempty" label:"Verify" help:"A command that the agent's work has to pass, in a sandbox of its own" placeholder:"COMMAND" inherit:"always"`
	VerifyTimeout  amount.Duration `json:"verify_timeout,omitzero" label:"Verification time limit" help:"End the verification after this time; 0 for no limit" default:"10m" min:"0s" inherit:"always"`
	AllowDegraded  bool            `json:"allow_degraded,omitempty" label:"Allow degraded limits" help:"Run although this machine cannot enforce a limit"`
}
