package run

import (
	"slices"
	"strings"
	"time"

	"aibox/agents"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/toolconfig"
	"aibox/review/accept"
	"aibox/session"
	"aibox/workspace"
)

// Plan is a validated request with all defaults filled in.
type Plan struct {
	Settings *config.Resolved // every setting, with the source of its value
	// RepositorySettings names the settings that a file in the repository affects, raw; empty
	// for none.
	RepositorySettings string
	Hide               []string       // the globs in addition to the built-in ones
	Accept             *accept.Target // destination of the changes at the end; nil means none
	Login              *agents.Info   // the agent for whose account the session gets the key of `aibox login`; nil for none
	Launch             session.Launch
}

// WaitsForEnd reports whether there are actions at the end, so that the caller must follow
// the run until then.
func (p Plan) WaitsForEnd() bool { return p.Accept != nil || p.Launch.Spec.RequireChanges }

// Resolve validates a request and fills in missing values: from the session that it
// resumes, from the settings, and from the environment. It starts nothing and changes
// nothing. If it fails, the plan holds the results so far.
func (r *Runner) Resolve(request Request) (Plan, error) {
	s := r.resolution(request)
	err := s.do(s.resume, s.settings, s.agent, s.options, s.cloud, s.network, s.secrets, s.task, s.environment, s.login, s.atEnd, s.limits, s.verification, s.place, s.prompts)
	return s.plan, err
}

// ResolveDefaults is the first part of Resolve, for a form that asks for the rest: it
// finds the agent, the settings and the agent's options. The task may be missing.
func (r *Runner) ResolveDefaults(request Request) (Plan, error) {
	s := r.resolution(request)
	err := s.do(s.resume, s.settings, s.agent, s.options)
	return s.plan, err
}

// resolution is a request that is being resolved to a plan.
type resolution struct {
	*Runner
	request  Request
	resumed  *session.Session // nil for a new run
	feedback bool             // the resumed session has feedback, which is sent as the task
	implied  string           // the flag that implies --network; "" for none
	found    agents.Agent     // set after options was called, with its options set
	plan     Plan
}

func (r *Runner) resolution(request Request) *resolution {
	request = request.Clone()
	s := &resolution{Runner: r, request: request}
	s.plan.Launch.Spec = session.Spec{
		Agent: request.Agent, Prompt: request.Prompt, Args: request.Args, Interactive: request.Interactive,
		Branch: request.Branch, NoFeedback: request.NoFeedback, Batch: request.Batch,
	}
	s.plan.Launch.Detached = request.Detached
	if r.TerminalSize != nil {
		s.plan.Launch.Size = r.TerminalSize()
	}
	return s
}

func (s *resolution) do(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// settings resolves the settings, with those of the request or the resumed session.
func (s *resolution) settings() error {
	resolved, err := s.User.Settings(s.request.repository(), s.ofAgent(s.overrides())...)
	if err != nil {
		return err
	}
	s.plan.Settings = resolved
	launched := &s.plan.Launch.Spec
	launched.Run = resolved.Settings.Run
	launched.DefaultMemory = s.hasDefaultMemory(resolved)
	launched.Env = addNames(resolved.Settings.Env, s.request.Settings.Words("env"))
	if launched.Agent == "" {
		launched.Agent = resolved.Settings.Agent
	}
	s.plan.Hide = launched.Hide
	s.plan.RepositorySettings = s.repositorySettings(resolved)
	if s.request.Batch != "" && !s.request.Settings.Has("accept") { // the settings are for single runs
		launched.Accept = "none"
	}
	if s.request.Detached { // the settings are for runs that are followed to their end
		if !s.request.Settings.Has("accept") {
			launched.Accept = "none"
		}
		launched.RequireChanges = launched.RequireChanges && s.request.Settings.Has("require-changes")
	}
	return nil
}

// hasDefaultMemory reports whether the memory limit is the built-in one, also if the session
// inherits it.
func (s *resolution) hasDefaultMemory(resolved *config.Resolved) bool {
	if s.resumed != nil && s.isInherited("memory") && !s.request.Settings.Has("memory") {
		return s.resumed.DefaultMemory
	}
	setting, err := resolved.Find("memory")
	return err == nil && setting.Source().Kind == config.BuiltIn
}

// ofAgent adds the agent, whose own table in the settings applies. An unknown agent is
// reported later.
func (s *resolution) ofAgent(overrides []config.Override) []config.Override {
	name := s.plan.Launch.Spec.Agent
	if _, err := s.User.Agents().Find(name); err != nil {
		return overrides
	}
	return append(overrides, config.Override{Key: "agent", Name: "the agent", Value: name})
}

func (s *resolution) overrides() []config.Override {
	s.implyNetwork()
	if s.resumed == nil {
		return s.request.Settings.ForResolve(func(key string) string {
			if key == "network" && s.implied != "" {
				return s.implied
			}
			return "--" + key
		})
	}
	given := s.request.Settings
	return s.inherited().ForResolve(func(key string) string {
		if given.Has(key) {
			return "--" + key
		}
		if s.request.Forks != "" {
			return "the forked session " + string(s.resumed.ID)
		}
		return "--resume " + string(s.resumed.ID)
	})
}

// repositorySettings describes the settings that a file in the repository affects. A
// resumed session keeps its own settings.
func (s *resolution) repositorySettings(resolved *config.Resolved) string {
	var parts []string
	for _, setting := range resolved.OfRepository() {
		agent, ofAgent := strings.CutPrefix(setting.Key, "agents.")
		if s.resumed != nil && s.isInherited(setting.Key) || ofAgent && !strings.HasPrefix(agent, s.plan.Launch.Spec.Agent+".") {
			continue
		}
		value := setting.Text()
		if value == "" {
			value = "nothing"
		}
		parts = append(parts, setting.Key+" "+value)
	}
	return strings.Join(parts, ", ")
}

// agent finds the agent.
func (s *resolution) agent() (err error) {
	name := s.plan.Launch.Spec.Agent
	if s.found, err = s.User.Agents().Find(name); err != nil {
		if name == "" {
			return fault.New(fault.Usage, "%w", err).Hint("`aibox config set agent NAME` sets a default agent")
		}
		return err
	}
	return nil
}

// options merges the agent's options and validates them.
func (s *resolution) options() error {
	name := s.plan.Launch.Spec.Agent
	texts := map[string]string{}
	for _, setting := range s.plan.Settings.Agent(name) {
		texts[setting.Field.Key] = setting.Text()
	}
	if s.resumed != nil && s.resumed.Agent == name {
		for key, text := range s.resumed.Options {
			texts[key] = text
		}
	}
	for key, text := range s.request.Options {
		texts[key] = text
	}
	err := setOptions(s.found, texts)
	if err == nil {
		err = checkApplies(s.found, texts, s.request.Options, s.request.Mode())
	}
	if err != nil {
		return err
	}
	s.plan.Launch.Spec.Options = texts
	secrets, err := EnvironmentSecrets(s.found)
	if err != nil {
		return err
	}
	s.plan.Launch.Secrets = Reveal(secrets, s.request.Secrets)
	return nil
}

// task finds the task, which an agent that works alone may need.
func (s *resolution) task() error {
	launched := &s.plan.Launch.Spec
	info := s.found.Info()
	needed := info.NeedsPrompt && !s.request.Interactive && !s.feedback
	if launched.Prompt == "" && needed && s.ReadTask != nil {
		var err error
		if launched.Prompt, err = s.ReadTask(); err != nil {
			return err
		}
	}
	switch {
	case len(launched.Prompt) > MaxPrompt:
		return ErrLongPrompt
	case strings.TrimSpace(launched.Prompt) == "" && needed:
		return fault.New(fault.Usage, "%s needs a task", info.Title).
			Hint("give it with --prompt or --prompt-file")
	case info.NeedsCommand && len(launched.Args) == 0 && !s.request.Interactive && s.resumed != nil:
		// The session itself would refuse only after it has taken over or copied the workspace.
		return agents.ErrNoCommand
	}
	return nil
}

// MaxPrompt bounds a task in bytes; it is part of the start message to the sandbox.
const MaxPrompt = 2 << 20

// ErrLongPrompt reports that a task is longer than MaxPrompt.
var ErrLongPrompt = fault.New(fault.Usage, "the prompt is longer than 2 MiB").
	Hint("put the text into a file of the repository and name the file in the prompt")

// environment reads the variables that the agent gets.
func (s *resolution) environment() (err error) {
	launch := &s.plan.Launch
	launch.Keys = s.User.ModelKeys()
	if s.Foreign {
		launch.Spec.Env = nil
		return nil
	}
	launch.Env, launch.Spec.Env, err = readVariables(launch.Spec.Env)
	if err != nil {
		return err
	}
	launch.Registries, err = ownRegistries(&launch.Spec, toolconfig.Own())
	return err
}

// atEnd checks the settings for the end of the session: the actions with the changes.
func (s *resolution) atEnd() error {
	launched := &s.plan.Launch.Spec
	if launched.Accept == "none" {
		return nil
	}
	target := new(accept.Target)
	if target.UnmarshalText([]byte(launched.Accept)) != nil {
		return fault.New(fault.Usage, "--accept must be none, branch or worktree, not %q", launched.Accept)
	}
	s.plan.Accept = target
	return nil
}

// The smallest limits under which a sandbox works.
const (
	minMemory amount.MiB     = 64
	minCPUs   amount.Decimal = 10 // a tenth
)

// limits checks numbers and combinations for which tags are not enough.
func (s *resolution) limits() error {
	launched := &s.plan.Launch.Spec
	switch {
	case launched.Timeout < 0:
		return fault.New(fault.Usage, "--timeout cannot be negative").Hint("0 means no limit")
	case launched.Memory > 0 && launched.Memory < minMemory:
		return fault.New(fault.Usage, "--memory must be at least %v, because gVisor itself needs some", minMemory).Hint("0 means no limit")
	case launched.CPUs > 0 && launched.CPUs < minCPUs:
		return fault.New(fault.Usage, "--cpus must be at least %v", minCPUs).Hint("0 means no limit")
	case launched.ModelTimeout < 0:
		return fault.New(fault.Usage, "--model-timeout cannot be negative").Hint("0 means no limit")
	case s.request.NoFeedback && s.resumed == nil:
		return fault.New(fault.Usage, "--no-feedback needs --resume").Hint("leave it out")
	}
	return nil
}

func (s *resolution) verification() error {
	launched := &s.plan.Launch.Spec
	command, timeout, err := CheckVerification(launched.Verify, time.Duration(launched.VerifyTimeout))
	if err != nil {
		return err
	}
	launched.Verify, launched.VerifyTimeout = command, amount.Duration(timeout)
	if s.request.Detached && s.plan.WaitsForEnd() {
		return fault.New(fault.Usage, "--detach returns before there is a result").
			Hint("drop --accept and --require-changes, and run `aibox accept` later")
	}
	return nil
}

// place makes paths absolute, since the supervisor has another working directory.
func (s *resolution) place() (err error) {
	launched := &s.plan.Launch.Spec
	if s.resumed != nil {
		launched.Hide, launched.ReadOnly = s.resumed.Hide, s.resumed.ReadOnly
	} else {
		launched.Hide = slices.Concat(workspace.DefaultHide(), launched.Hide)
	}
	if launched.Repository, err = absoluteRepository(s.request.repository()); err != nil {
		return err
	}
	if s.Foreign {
		launched.Mount = nil
	}
	if launched.Mount, err = resolveMounts(launched.Repository, launched.Mount); err != nil {
		return err
	}
	launched.Inference, err = absoluteScript(launched.Inference)
	return err
}

func (s *resolution) prompts() (err error) {
	launched := &s.plan.Launch.Spec
	launched.Prompts, err = s.User.SystemPrompts(s.request.repository(), launched.System)
	return err
}
