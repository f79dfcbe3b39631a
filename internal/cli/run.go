package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/session"
	"aibox/workspace"

	"github.com/spf13/cobra"
)

// maxPrompt bounds a prompt in bytes; the start message to the box holds it.
const maxPrompt = 2 << 20

// defaultTimeout is the time limit of a run that names none. Some agents retry a
// dead model for hours, so there is always a limit unless the user lifts it.
const defaultTimeout = time.Hour

// runOptions are the flags of `aibox run`.
type runOptions struct {
	agent      string
	prompt     string
	promptFile string
	repo       string
	branch     string
	clean      bool
	hide       []string
	detach     bool
	network    netguard.Policy
	inference  string
	model      string
	set        []string
	env        []string
	image      string
	pids       uint64
	timeout    time.Duration
	accept     string
	changes    bool
	json       bool
	args       []string // behind "--"
}

func (a *app) runCommand() *cobra.Command {
	o := &runOptions{network: netguard.Local}
	cmd := &cobra.Command{
		Use:   "run [AGENT] [flags] [-- ARGUMENT…]",
		Short: "Run an agent on a repository",
		Long: `Run an agent on a copy of a repository, in a box of its own, and follow it.
The copy holds your uncommitted work. Nothing of it comes back before you accept it.

What stands behind "--" goes to the agent's command line as it is; for the agent
"shell" it is the command to run.`,
		Example: `  aibox run codex --prompt "fix the failing test"
  aibox run --agent opencode --prompt-file task.md --json
  aibox run shell -- make test
  aibox run codex --inference scripted --prompt hello   # no model needed`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.positional(cmd, args); err != nil {
				return err
			}
			return a.run(cmd.Context(), o)
		},
	}
	o.bind(cmd)
	for _, agent := range agents.All() {
		cmd.AddCommand(a.runAgentCommand(o, agent))
	}
	return cmd
}

// bind declares the flags that every agent has.
func (o *runOptions) bind(cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&o.agent, "agent", "", "which agent (`NAME`; see aibox agents)")
	f.StringVarP(&o.prompt, "prompt", "p", "", "what to do (`TEXT`)")
	f.StringVar(&o.promptFile, "prompt-file", "", "read what to do from `FILE`, or from standard input when it is -")
	f.StringVar(&o.repo, "repo", ".", "the repository: a `PATH` or a URL")
	f.StringVar(&o.branch, "branch", "", "start from this `BRANCH`, tag or commit instead of what is checked out")
	f.BoolVar(&o.clean, "clean", false, "leave uncommitted and untracked work out")
	f.StringArrayVar(&o.hide, "hide", nil, "`GLOB` of files the agent must not see, besides "+strings.Join(workspace.DefaultHide(), ", "))
	f.BoolVarP(&o.detach, "detach", "d", false, "print the session's id and come back at once")
	f.Var(&o.network, "network", "what the agent may reach: none, or local (the model only)")
	f.StringVar(&o.inference, "inference", "auto", "the model server: auto, ollama, openai, anthropic, gemini, openrouter, scripted, scripted:FILE or a `URL`")
	f.StringVar(&o.model, "model", "", "the model (`ID`); needed when the server has several")
	f.StringArrayVar(&o.set, "set", nil, "an option of the agent (`KEY=VALUE`; see aibox agents show NAME)")
	f.StringArrayVar(&o.env, "env", nil, "a variable for the agent: `NAME=VALUE`, or NAME to pass yours on")
	f.StringVar(&o.image, "image", "", "another image (`REF`) than the agent's own")
	f.Uint64Var(&o.pids, "pids", 4096, "most processes in the box; 0 for no limit")
	f.DurationVar(&o.timeout, "timeout", defaultTimeout, "end the session after this time; 0 for no limit")
	f.StringVar(&o.accept, "accept", "none", "what to do with the changes: none, or branch")
	f.BoolVar(&o.changes, "require-changes", false, "exit 1 when the agent changed nothing")
	f.BoolVar(&o.json, "json", false, "print the result as JSON, and the agent's output on standard error")
	_ = cmd.RegisterFlagCompletionFunc("agent", completeAgents)
	_ = cmd.RegisterFlagCompletionFunc("network", fixed("none", "local"))
	_ = cmd.RegisterFlagCompletionFunc("accept", fixed("none", "branch"))
	_ = cmd.RegisterFlagCompletionFunc("inference", fixed("auto", "ollama", "openai", "anthropic", "gemini", "openrouter", "scripted"))
}

// positional takes the agent's name and what stands behind "--".
func (o *runOptions) positional(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, o.args = args[:dash], args[dash:]
	}
	if len(args) > 0 && o.agent == "" {
		o.agent, args = args[0], args[1:]
	}
	if len(args) > 0 {
		return fault.New(fault.Usage, "%q is one word too many", args[0]).
			Hint("the task goes behind --prompt, the agent's own arguments behind --")
	}
	return nil
}

// runAgentCommand is `aibox run AGENT`, with the agent's own options as flags.
func (a *app) runAgentCommand(o *runOptions, agent agents.Agent) *cobra.Command {
	info := agent.Info()
	cmd := &cobra.Command{
		Use:   info.Name + " [flags] [-- ARGUMENT…]",
		Short: info.Summary,
		Args:  cobra.ArbitraryArgs,
	}
	fields, err := spec.Of(agent)
	if err != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return err }
		return cmd
	}
	taken := map[string]bool{}
	for _, field := range fields {
		if field.Type == spec.Secret || cmd.InheritedFlags().Lookup(field.Key) != nil {
			continue // only by --set, which says so
		}
		taken[field.Key] = true
		declare(cmd.Flags(), field, agent)
		if len(field.Choices) > 0 {
			_ = cmd.RegisterFlagCompletionFunc(field.Key, fixed(field.Choices...))
		}
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		o.agent = info.Name
		if err := o.positional(cmd, args); err != nil {
			return err
		}
		for key := range taken {
			if flag := cmd.Flags().Lookup(key); flag.Changed {
				o.set = append(o.set, key+"="+flag.Value.String())
			}
		}
		slices.Sort(o.set)
		return a.run(cmd.Context(), o)
	}
	return cmd
}

// run is `aibox run`.
func (a *app) run(ctx context.Context, o *runOptions) error {
	launch, err := o.launch(a.in)
	if err != nil {
		return err
	}
	service, err := a.service()
	if err != nil {
		return err
	}
	supervisor, err := service.Spawn() // first, so that it starts while this process looks around
	if err != nil {
		return err
	}
	defer supervisor.Close()
	a.repair(ctx, service)
	if launch.ImageID, err = a.imageOf(ctx, &launch.Spec); err != nil {
		return err
	}
	progress := newSteps(a.err, a.errTerm)
	id, err := supervisor.Launch(ctx, launch, progress.handle)
	progress.close()
	if err != nil {
		if ctx.Err() != nil {
			return fault.New(fault.Interrupted, "interrupted; nothing was started")
		}
		return err
	}
	if o.detach {
		return a.detached(o, service, id)
	}
	ended, err := a.followRun(ctx, service, id, o.json)
	if err != nil {
		return err
	}
	return a.conclude(context.WithoutCancel(ctx), o, service, ended)
}

// launch is what the options ask for, checked as far as it can be without
// touching anything.
func (o *runOptions) launch(in *os.File) (session.Launch, error) {
	agent, err := agents.Find(o.agent)
	if err != nil {
		return session.Launch{}, err
	}
	options, err := agentOptions(agent, o.set)
	if err != nil {
		return session.Launch{}, err
	}
	prompt, err := o.readPrompt(in, agent.Info().NeedsPrompt)
	if err != nil {
		return session.Launch{}, err
	}
	if prompt == "" && agent.Info().NeedsPrompt {
		return session.Launch{}, fault.New(fault.Usage, "%s needs to be told what to do", agent.Info().Title).
			Hint("say it with --prompt, or give --prompt-file")
	}
	env, names, err := agentEnv(o.env)
	if err != nil {
		return session.Launch{}, err
	}
	if o.accept != "none" && o.accept != "branch" {
		return session.Launch{}, fault.New(fault.Usage, "--accept takes none or branch, not %q", o.accept)
	}
	if o.timeout < 0 {
		return session.Launch{}, fault.New(fault.Usage, "--timeout cannot be negative").Hint("0 means no limit")
	}
	if o.detach && (o.accept != "none" || o.changes) {
		return session.Launch{}, fault.New(fault.Usage, "--detach comes back before there is a result to act on").
			Hint("leave --accept and --require-changes out, and use `aibox accept` later")
	}
	repo, err := repository(o.repo)
	if err != nil {
		return session.Launch{}, err
	}
	inference, err := absoluteScript(o.inference)
	if err != nil {
		return session.Launch{}, err
	}
	return session.Launch{
		Env:  env,
		Keys: keys(),
		Spec: session.Spec{
			Agent: o.agent, Options: options, Prompt: prompt, Args: o.args,
			Repository: repo, Branch: o.branch, Clean: o.clean, Hide: slices.Concat(workspace.DefaultHide(), o.hide),
			Network: o.network, Inference: inference, Model: o.model, EnvNames: names,
			Image: o.image, Timeout: session.Duration(o.timeout), Pids: o.pids,
		},
	}, nil
}

// agentOptions checks --set and returns the options by key.
func agentOptions(agent agents.Agent, set []string) (map[string]string, error) {
	fields, err := spec.Of(agent)
	if err != nil {
		return nil, err
	}
	options := map[string]string{}
	for _, pair := range set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fault.New(fault.Usage, "--set %q has no value", pair).Hint("write --set key=value")
		}
		field, err := spec.Find(fields, key)
		if err != nil {
			return nil, err
		}
		if err := field.Set(agent, value); err != nil {
			return nil, err
		}
		options[key] = value
	}
	return options, nil
}

// readPrompt takes the prompt from the flag, the file or standard input.
func (o *runOptions) readPrompt(in *os.File, wanted bool) (string, error) {
	switch {
	case o.prompt != "" && o.promptFile != "":
		return "", fault.New(fault.Usage, "--prompt and --prompt-file were both given").Hint("keep one of them")
	case o.prompt != "":
		return checkPrompt(o.prompt)
	case o.promptFile == "-", o.promptFile == "" && wanted && !terminalOf(in).interactive:
		return readPrompt(in, "standard input")
	case o.promptFile != "":
		file, err := os.Open(o.promptFile)
		if err != nil {
			return "", fault.New(fault.Usage, "the prompt cannot be read: %w", err)
		}
		defer file.Close()
		return readPrompt(file, o.promptFile)
	default:
		return "", nil
	}
}

func readPrompt(in io.Reader, name string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxPrompt+1))
	if err != nil {
		return "", fault.New(fault.Usage, "the prompt cannot be read from %s: %w", name, err)
	}
	return checkPrompt(string(data))
}

func checkPrompt(prompt string) (string, error) {
	if len(prompt) > maxPrompt {
		return "", fault.New(fault.Usage, "the prompt is longer than 2 MiB").
			Hint("put the material into a file of the repository and name it in the prompt")
	}
	return prompt, nil
}

// agentEnv is --env as NAME=VALUE, and the names alone for the record.
func agentEnv(flags []string) (env, names []string, err error) {
	for _, flag := range flags {
		name, _, given := strings.Cut(flag, "=")
		if name == "" || strings.ContainsAny(name, " \t\n\x00") {
			return nil, nil, fault.New(fault.Usage, "--env %q is not NAME or NAME=VALUE", flag)
		}
		if !given {
			value, ok := os.LookupEnv(name)
			if !ok {
				return nil, nil, fault.New(fault.Usage, "--env %s: you have no such variable", name).
					Hint("set it, or write --env %s=VALUE", name)
			}
			flag = name + "=" + value
		}
		env, names = append(env, flag), append(names, name)
	}
	return env, names, nil
}

// repository makes a path absolute and leaves a URL as it is.
func repository(name string) (string, error) {
	if workspace.IsURL(name) {
		return name, nil
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return "", fault.New(fault.Usage, "the repository %q cannot be found: %w", name, err)
	}
	return path, nil
}

// absoluteScript makes the path in scripted:PATH absolute, since the supervisor
// has another working directory. A name without a slash is a built-in script.
func absoluteScript(inference string) (string, error) {
	file, ok := strings.CutPrefix(inference, "scripted:")
	if !ok || !strings.ContainsRune(file, '/') {
		return inference, nil
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return "", fault.New(fault.Usage, "the script %q cannot be found: %w", file, err)
	}
	return "scripted:" + path, nil
}

// keys are the variables with model servers' keys that the user has. They go to
// the supervisor through a pipe.
func keys() map[string]string {
	found := map[string]string{}
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "AIBOX_INFERENCE_KEY", "OLLAMA_HOST"} {
		if value, ok := os.LookupEnv(name); ok {
			found[name] = value
		}
	}
	return found
}

// detached tells where a detached session is.
func (a *app) detached(o *runOptions, service *session.Sessions, id session.ID) error {
	if !o.json {
		_, err := fmt.Fprintln(a.out, id)
		fmt.Fprintf(a.err, "%s `aibox attach %s` follows it, `aibox stop %s` ends it\n", a.errTerm.faint("→"), id, id)
		return err
	}
	found, err := service.Find(string(id))
	return errors.Join(err, printJSON(a.out, found))
}
