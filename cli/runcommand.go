package cli

import (
	"context"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// runOptions are the flags of `aibox run`.
type runOptions struct {
	request    run.Request
	promptFile string
	set        []string
	own        []string // the options of the agent that are flags of this command
	show       presentation
}

// runCommand is `aibox run`.
func (a *cli) runCommand() *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run [AGENT] [flags] [-- ARGUMENT…]",
		Short: "Run an agent on a repository",
		Long: `Run an agent on a copy of a repository, in its own sandbox, and follow its output. The
copy includes your uncommitted work. Your repository does not change until you accept.

Arguments after "--" are passed to the agent unchanged; for the agent "shell" they are
the command to run.

Several agents or models, separated by commas, and --times run the same task in several
sessions side by side: a batch. Lines of progress begin with the session's id, the
results are a table, and "aibox compare" shows more. The exit code is 0 if all sessions
succeeded, otherwise the highest of their exit codes.`,
		Example: `  aibox run codex --prompt "fix the failing test"
  aibox run --agent opencode --prompt-file task.md --json
  aibox run shell -- make test
  aibox run --resume 0dq4f --prompt "now add a test for it"
  aibox run --resume 0dq4f   # with your comments and rejected hunks as its task
  aibox run --agent codex,claude --prompt "fix the failing test"    # both, side by side
  aibox run codex --model qwen3,gpt-oss --times 3 --prompt "…"      # six sessions
  aibox run codex --inference scripted --prompt hello   # no model needed`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.complete.agents,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.run(cmd, o, args) },
	}
	if !a.canCall("run") {
		return cmd
	}
	o.bind(a, cmd)
	for _, agent := range a.app.Agents().All() {
		cmd.AddCommand(a.runAgentCommand(o, agent))
	}
	return cmd
}

// run is `aibox run`.
func (a *cli) run(cmd *cobra.Command, o *runOptions, args []string) error {
	if err := o.read(cmd, args); err != nil {
		return err
	}
	return a.runWithPromptFile(cmd.Context(), o)
}

// runWithPromptFile runs the request, with the task from a file if there is one.
func (a *cli) runWithPromptFile(ctx context.Context, o *runOptions) error {
	if o.promptFile != "" {
		var err error
		if o.request.Prompt, err = a.readPromptFile(ctx, o.promptFile); err != nil {
			return err
		}
	}
	return a.runRequest(ctx, o.request, o.show)
}

// bind declares the flags that every agent has.
func (o *runOptions) bind(a *cli, cmd *cobra.Command) {
	f, r := cmd.PersistentFlags(), &o.request
	f.StringVar(&r.Agent, "agent", "", "run the agent `NAME`; several, separated by commas, run side by side; see aibox agents")
	f.StringVarP(&r.Prompt, "prompt", "p", "", "give the agent the task `TEXT`")
	f.StringVar(&o.promptFile, "prompt-file", "", "read the task from `FILE`, or from standard input if it is -")
	f.StringVar(&r.Resumes, "resume", "", "continue the work and the conversation of the session `ID`")
	f.BoolVar(&r.NoFeedback, "no-feedback", false, "with --resume, do not send your comments and rejected hunks")
	f.StringVar(&r.Repository, "repo", ".", "work on the repository at `PATH` or a URL")
	f.StringVar(&r.Branch, "branch", "", "start from this `BRANCH`, tag or commit instead of HEAD")
	f.IntVar(&r.Times, "times", 1, "run the task `N` times side by side, with each agent and model")
	f.BoolVarP(&r.Detached, "detach", "d", false, "print the session's id and return immediately")
	f.BoolVarP(&r.Interactive, "interactive", "i", false, "talk to the agent on your terminal; ctrl-p ctrl-q leaves it running")
	f.StringArrayVar(&o.set, "set", nil, "set an option of the agent to a value (`KEY=VALUE`); see aibox agents show NAME")
	a.bindSettings(cmd, &r.Settings)
	f.BoolVar(&o.show.json, "json", false, "print the result as JSON; the agent's output goes to standard error")
	_ = cmd.RegisterFlagCompletionFunc("agent", a.complete.agentList)
	_ = cmd.RegisterFlagCompletionFunc("resume", a.complete.resumable)
	_ = cmd.RegisterFlagCompletionFunc("set", a.complete.options)
	for _, flag := range []string{"prompt", "branch", "times"} {
		_ = cmd.RegisterFlagCompletionFunc(flag, fixed())
	}
}

// hideFlags omits flags from the help of a command that refuses them with an explanation.
func hideFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.PersistentFlags().MarkHidden(name) // a test makes sure that each exists
	}
}

// read completes the request with the values that no flag is bound to: the agent's name, the
// arguments after "--", and --set.
func (o *runOptions) read(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, o.request.Args = args[:dash], args[dash:]
	}
	if len(args) > 0 && o.request.Agent == "" {
		o.request.Agent, args = args[0], args[1:]
	}
	if len(args) > 0 {
		return fault.New(fault.Usage, "unexpected argument %q", args[0]).
			Hint("give the task with --prompt, and the agent's own arguments after --")
	}
	return o.readFlags(cmd)
}

// readFlags completes the request with the agent's options, and leaves options that were not given
// unset.
func (o *runOptions) readFlags(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("repo") {
		o.request.Repository = ""
	}
	for _, pair := range o.set {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return fault.New(fault.Usage, "--set %q has no value", pair).Hint("write --set key=value")
		}
		o.setOption(key, value)
	}
	for _, key := range o.own {
		if flag := cmd.Flags().Lookup(key); flag.Changed {
			o.setOption(key, flag.Value.String())
		}
	}
	if !cmd.Flags().Changed("times") {
		o.request.Times = 0
	} else if o.request.Times < 1 {
		return fault.New(fault.Usage, "--times must be at least 1, not %d", o.request.Times).Hint("leave it out to run the task once")
	}
	if o.request.Prompt != "" && o.promptFile != "" {
		return fault.New(fault.Usage, "--prompt and --prompt-file cannot be used together").Hint("keep one of them")
	}
	return nil
}

func (o *runOptions) setOption(key, text string) {
	if o.request.Options == nil {
		o.request.Options = map[string]string{}
	}
	o.request.Options[key] = text
}

// agentExample returns a command line that runs the agent.
func agentExample(info agents.Info) string {
	if !info.NeedsPrompt {
		return "  aibox run " + info.Name + " -- make test"
	}
	return "  aibox run " + info.Name + ` --prompt "fix the failing test"`
}

// runAgentCommand is `aibox run AGENT`, with the agent's own options as flags.
func (a *cli) runAgentCommand(o *runOptions, agent agents.Agent) *cobra.Command {
	info := agent.Info()
	cmd := &cobra.Command{
		Use:   info.Name + " [flags] [-- ARGUMENT…]",
		Short: info.Summary,
		Long: info.Summary + `.

The flags of this agent come first, then those of every run.`,
		Example: agentExample(info),
		Args:    cobra.ArbitraryArgs,
	}
	if !a.canCall(info.Name) {
		cmd.Run = func(*cobra.Command, []string) {} // the help lists only what runs
		return cmd
	}
	own := o.bindOwn(a, cmd, agent)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if given := o.request.Agent; given != "" && given != info.Name {
			return fault.New(fault.Usage, "two agents were given: --agent %s and %q", termtext.Escape(given), info.Name).
				Hint("keep one of them")
		}
		o.request.Agent, o.own = info.Name, own
		return a.run(cmd, o, args)
	}
	return cmd
}

// bindOwn declares the flags of one agent and returns those that are its options; see
// run.IsOwnFlag. The other options go by --set.
func (o *runOptions) bindOwn(a *cli, cmd *cobra.Command, agent agents.Agent) (own []string) {
	options := agents.Options(agent)
	fields, _ := spec.Of(options) // checked when the agent was registered
	cmd.Flags().BoolVar(&o.show.form, "form", false, "complete the options on the screen for a new run; line by line if ACCESSIBLE is set")
	for _, field := range fields {
		if !run.IsOwnFlag(field) {
			continue
		}
		own = append(own, field.Key)
		declare(cmd.Flags(), field, options)
		switch {
		case len(field.Choices) > 0:
			_ = cmd.RegisterFlagCompletionFunc(field.Key, fixed(field.Choices...))
		case field.Type == spec.Model:
			_ = cmd.RegisterFlagCompletionFunc(field.Key, a.complete.models)
		}
	}
	return own
}
