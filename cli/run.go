package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// runOptions are the flags of `aibox run`.
type runOptions struct {
	agent       string
	resume      string
	prompt      string
	promptFile  string
	repo        string
	branch      string
	detach      bool
	interactive bool
	set         []string
	noFeedback  bool
	json        bool
	args        []string // after "--"

	config.Run // the settings: those of the flags first, then those that hold

	given   func(flag string) bool // whether the user gave the flag
	resumes session.ID             // what resume names
	talk    bool                   // there is feedback on its work for the agent, so that no prompt is needed
	hidden  []string               // the globs of the session that is resumed
	form    filled
}

func (a *cli) runCommand() *cobra.Command { return a.commandOf(a.run) }

// commandOf is `aibox run`, which does do with what the command line says.
func (a *cli) commandOf(do func(context.Context, *runOptions) error) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "run [AGENT] [flags] [-- ARGUMENT…]",
		Short: "Run an agent on a repository",
		Long: `Run an agent on a copy of a repository, in its own sandbox, and follow its output. The
copy includes your uncommitted work. Your repository does not change until you accept.

Arguments after "--" are passed to the agent unchanged; for the agent "shell" they are
the command to run.`,
		Example: `  aibox run codex --prompt "fix the failing test"
  aibox run --agent opencode --prompt-file task.md --json
  aibox run shell -- make test
  aibox run --resume 0dq4f --prompt "now add a test for it"
  aibox run --resume 0dq4f   # with your comments and rejected hunks as its task
  aibox run codex --inference scripted --prompt hello   # no model needed`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: a.completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.positional(cmd, args); err != nil {
				return err
			}
			o.given = cmd.Flags().Changed
			return do(cmd.Context(), o)
		},
	}
	o.bind(a, cmd)
	for _, agent := range a.app.Agents().All() {
		cmd.AddCommand(a.runAgentCommand(o, do, cmd.PersistentFlags(), agent))
	}
	return cmd
}

// bind declares the flags that every agent has.
func (o *runOptions) bind(a *cli, cmd *cobra.Command) {
	f := cmd.PersistentFlags()
	f.StringVar(&o.agent, "agent", "", "the agent to run (`NAME`; see aibox agents)")
	f.StringVarP(&o.prompt, "prompt", "p", "", "the task (`TEXT`)")
	f.StringVar(&o.promptFile, "prompt-file", "", "read the task from `FILE`, or from standard input if it is -")
	f.StringVar(&o.resume, "resume", "", "continue the work and the conversation of the session `ID`")
	f.BoolVar(&o.noFeedback, "no-feedback", false, "with --resume: do not send your comments and rejected hunks")
	f.StringVar(&o.repo, "repo", ".", "the repository: a `PATH` or URL")
	f.StringVar(&o.branch, "branch", "", "start from this `BRANCH`, tag or commit instead of HEAD")
	f.BoolVarP(&o.detach, "detach", "d", false, "print the session's id and return at once")
	f.BoolVarP(&o.interactive, "interactive", "i", false, "talk to the agent on your terminal; ctrl-p ctrl-q leaves it running")
	f.StringArrayVar(&o.set, "set", nil, "an option of the agent (`KEY=VALUE`; see aibox agents show NAME)")
	o.bindSettings(a, cmd)
	f.BoolVar(&o.json, "json", false, "print the result as JSON, and the agent's output on standard error")
	_ = cmd.RegisterFlagCompletionFunc("agent", a.completeAgents)
	_ = cmd.RegisterFlagCompletionFunc("resume", a.completeResumable)
}

// positional reads the agent's name and the arguments after "--".
func (o *runOptions) positional(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args, o.args = args[:dash], args[dash:]
	}
	if len(args) > 0 && o.agent == "" {
		o.agent, args = args[0], args[1:]
	}
	if len(args) > 0 {
		return fault.New(fault.Usage, "unexpected argument %q", args[0]).
			Hint("give the task with --prompt, and the agent's own arguments after --")
	}
	return nil
}

// runAgentCommand is `aibox run AGENT`, with the agent's own options as flags. An
// option that has the name of one of the common flags, or is secret, goes by --set.
func (a *cli) runAgentCommand(o *runOptions, do func(context.Context, *runOptions) error, common *pflag.FlagSet, agent agents.Agent) *cobra.Command {
	info := agent.Info()
	cmd := &cobra.Command{
		Use:   info.Name + " [flags] [-- ARGUMENT…]",
		Short: info.Summary,
		Long:  info.Summary + ".\nThe agent's own options come first, then those of every agent.",
		Args:  cobra.ArbitraryArgs,
	}
	options := agents.Options(agent)
	fields, err := spec.Of(options)
	if err != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return err }
		return cmd
	}
	o.bindForm(cmd)
	taken := map[string]bool{}
	for _, field := range fields {
		if field.Type == spec.Secret || common.Lookup(field.Key) != nil || cmd.Flags().Lookup(field.Key) != nil {
			continue
		}
		taken[field.Key] = true
		declare(cmd.Flags(), field, options)
		switch {
		case len(field.Choices) > 0:
			_ = cmd.RegisterFlagCompletionFunc(field.Key, fixed(field.Choices...))
		case field.Type == spec.Model:
			_ = cmd.RegisterFlagCompletionFunc(field.Key, a.completeModels)
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
		o.takeFlags(cmd, taken)
		o.given = cmd.Flags().Changed
		return do(cmd.Context(), o)
	}
	return cmd
}

// run is `aibox run`.
func (a *cli) run(ctx context.Context, o *runOptions) error {
	a.warnBrokenAgents()
	service, err := a.app.Sessions()
	if err != nil {
		return err
	}
	told, err := a.ready(service, o)
	a.tell(told)
	if err != nil {
		return err
	}
	if o.form.wanted {
		if err := a.fillIn(ctx, o); err != nil {
			return err
		}
	}
	launch, err := a.checked(o)
	if err != nil {
		return err
	}
	if launch.Spec.HasModel() {
		if err := a.askAboutServer(ctx, launch.Spec.Inference); err != nil {
			return err
		}
	}
	progress := newSteps(a.err, a.errTerm)
	id, err := a.start(ctx, service, launch, starting{step: progress.handle, repair: a.repair, bake: a.offerToBake})
	progress.close()
	if err != nil {
		return err
	}
	a.about = id
	if o.detach {
		return a.detached(o, service, id)
	}
	if o.interactive {
		return a.runInteractive(ctx, o, service, id)
	}
	ended, err := a.followRun(ctx, service, id, o.json)
	if err != nil {
		return err
	}
	return a.conclude(context.WithoutCancel(ctx), o, service, ended)
}

// detached tells where a detached session is.
func (a *cli) detached(o *runOptions, service *session.Sessions, id session.ID) error {
	if !o.json {
		_, err := fmt.Fprintln(a.out, id)
		fmt.Fprintf(a.err, "%s `aibox attach %s` follows it, `aibox stop %s` ends it\n", a.errTerm.faint("→"), id, id)
		return err
	}
	found, err := service.Find(string(id))
	return errors.Join(err, printJSON(a.out, found))
}
