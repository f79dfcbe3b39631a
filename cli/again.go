package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"aibox/agents"
	"aibox/agents/spec"
	"aibox/app/run"
	"aibox/bakery"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"

	"github.com/spf13/cobra"
)

func (a *cli) rerunCommand() *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "rerun ID [flags] [-- ARGUMENT…]",
		Short: "Run a session's task again",
		Long: `Start a new session with the agent, task and options of an earlier one, on the
repository as it is now. All flags of "aibox run" are accepted and override the
earlier session's values. --allow-degraded is never carried over: pass it again, or
put it in your settings.`,
		Example: `  aibox rerun 0dq4f
  aibox rerun 0dq4f --model qwen3 --detach`,
		Args:              oneBeforeDash,
		ValidArgsFunction: a.completeSessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.rerun(cmd, o, args)
		},
	}
	o.bind(a, cmd)
	return cmd
}

// oneBeforeDash wants one session before "--", and whatever there is behind.
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
	service, err := a.app.Sessions()
	if err != nil {
		return err
	}
	old, err := service.Find(args[0])
	a.about = old.ID
	if err != nil {
		return err
	}
	d := again(old)
	if resolved, err := a.app.Settings(d.Repository); err == nil { // else the run says what is wrong with them
		d = a.said(d, resolved)
	}
	if cmd.Flags().Changed("prompt-file") {
		d.Prompt = ""
	}
	if agent, given := flagText(cmd, "agent"); given && agent != d.Agent {
		d.Agent, d.Options = agent, nil
	}
	if len(args) > 1 {
		d.Args = args[1:]
	}
	o.takeFlags(cmd, map[string]bool{"agent": true, "rootful": true}) // the one is a word, the other holds already
	for _, pair := range o.set {
		o.form.flags = append(o.form.flags, "--set="+pair)
	}
	behind := d.Args
	d.Args = nil
	words := append(d.Words(nil), o.form.flags...)
	if len(behind) > 0 {
		words = append(append(words, "--"), behind...)
	}
	fmt.Fprintf(a.err, "%s %s\n", a.errTerm.faint("→"), safe(quoteAll(append([]string{"aibox"}, words...))))
	return a.doWords(cmd.Context(), words, a.run)
}

// flagText is what a flag says, if it was given.
func flagText(cmd *cobra.Command, name string) (text string, given bool) {
	flag := cmd.Flags().Lookup(name)
	return flag.Value.String(), flag.Changed
}

// again is the draft that runs a session once more. An image of aibox's own may have
// been baked anew since.
func again(s session.Session) run.Request {
	d := run.Of(s.Spec)
	if strings.HasPrefix(s.Image, bakery.Namespace) {
		delete(d.Settings, "image")
	}
	return d
}

// doWords reads the words of a draft as a command line and does do with it.
func (a *cli) doWords(ctx context.Context, words []string, do func(context.Context, *runOptions) error) error {
	var failed error
	reached := false
	cmd := a.commandOf(func(ctx context.Context, o *runOptions) error {
		reached, failed = true, do(ctx, o)
		return nil
	})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	cmd.SetOut(io.Discard)
	cmd.SetErr(io.Discard)
	cmd.SetArgs(words[1:]) // without "run"
	err := cmd.ExecuteContext(ctx)
	switch {
	case err != nil && fault.KindOf(err) != fault.Usage:
		return usage(err) // the parser's own complaint
	case err != nil:
		return err
	case !reached:
		return fault.New(fault.Usage, "%q does not start anything", strings.Join(words, " "))
	}
	return failed
}

// ownFlags says which of an agent's options are flags of `aibox run AGENT`.
func (a *cli) ownFlags(agent agents.Agent) func(key string) bool {
	fields, err := spec.Of(agents.Options(agent))
	common := a.commandOf(nil).PersistentFlags()
	return func(key string) bool {
		i := slices.IndexFunc(fields, func(field spec.Field) bool { return field.Key == key })
		return err == nil && i >= 0 && fields[i].Type != spec.Secret && common.Lookup(key) == nil && key != formFlag
	}
}

// said is d without what the settings say anyway.
func (a *cli) said(d run.Request, resolved *config.Resolved) run.Request {
	var options any
	if agent, err := a.app.Agents().Find(d.Agent); err == nil {
		options = agents.Options(agent)
	}
	return d.Without(resolved, options)
}
