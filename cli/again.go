package cli

import (
	"fmt"

	"aibox/app/run"
	"aibox/internal/fault"
	"aibox/internal/shellquote"

	"github.com/spf13/cobra"
)

func (a *cli) rerunCommand() *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "rerun ID [flags] [-- ARGUMENT…]",
		Short: "Run a session's task again",
		Long: `Start a new session with the agent, task and options of an earlier one, on the
repository as it is now. All flags of "aibox run" except --resume and --no-feedback are
accepted, and override the earlier session's values. --allow-degraded is never carried
over: pass it again, or put it in your settings.`,
		Example: `  aibox rerun 0dq4f
  aibox rerun 0dq4f --model qwen3 --detach`,
		Args:              oneBeforeDash,
		ValidArgsFunction: a.complete.sessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rerun(cmd, o, args)
		},
	}
	if a.canCall("rerun") {
		o.bind(a, cmd)
		hideFlags(cmd, "resume", "no-feedback")
	}
	return cmd
}

// oneBeforeDash takes one session before "--", and anything after it.
func oneBeforeDash(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		args = args[:dash]
	}
	return oneSession(cmd, args)
}

func (a *cli) rerun(cmd *cobra.Command, o *runOptions, args []string) error {
	for _, name := range []string{"resume", "no-feedback"} {
		if cmd.Flags().Changed(name) {
			return fault.New(fault.Usage, "--%s continues a session, but rerun starts a new one", name).Hint("aibox run --resume %s", args[0])
		}
	}
	if err := o.readFlags(cmd); err != nil {
		return err
	}
	service, err := a.app.Sessions()
	if err != nil {
		return err
	}
	old, err := service.Find(args[0])
	a.about = old.ID
	if err != nil {
		return err
	}
	request, err := run.FromSession(old.Spec)
	if err != nil {
		return err
	}
	if request, err = o.override(a, a.runner(service), cmd, request); err != nil {
		return err
	}
	if len(args) > 1 {
		request.Args = args[1:]
	}
	var more []string
	if o.show.json {
		more = append(more, "--json")
	}
	if o.promptFile != "" {
		more = append(more, "--prompt-file="+o.promptFile)
	}
	fmt.Fprintf(a.err, "%s %s\n", a.errTerm.faint("→"), safe(shellquote.Join(request.CommandLine(nil, more...))))
	if o.promptFile != "" {
		if request.Prompt, err = a.readPromptFile(cmd.Context(), o.promptFile); err != nil {
			return err
		}
	}
	return a.runRequest(cmd.Context(), request, o.show)
}

// override returns the request of an earlier session with the flags of this command, and
// without what the settings have anyway.
func (o *runOptions) override(a *cli, runner *run.Runner, cmd *cobra.Command, request run.Request) (run.Request, error) {
	given, changed := o.request, cmd.Flags().Changed
	if changed("repo") {
		request.Repository = given.Repository
	}
	if changed("branch") {
		request.Branch = given.Branch
	}
	if changed("interactive") {
		request.Interactive = given.Interactive
	}
	if changed("agent") && given.Agent != request.Agent {
		request.Agent, request.Options, request.Args = given.Agent, nil, nil
		request.Settings.Delete("image") // it belongs to the other agent
	}
	if changed("prompt") || changed("prompt-file") {
		request.Prompt = given.Prompt
	}
	request.Detached, request.Times = given.Detached, given.Times
	if resolved, err := a.app.Settings(request.Repository); err == nil { // else the run reports the error
		request = runner.WithoutDefaults(request, resolved)
	}
	for key, text := range given.Options {
		if request.Options == nil {
			request.Options = map[string]string{}
		}
		request.Options[key] = text
	}
	return request, request.Settings.Override(given.Settings)
}
