package cli

import (
	"aibox/internal/fault"

	"github.com/spf13/cobra"
)

func (a *cli) forkCommand() *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "fork ID [flags] [-- ARGUMENT…]",
		Short: "Continue a copy of a session's work with another task",
		Long: `Start a new session with a copy of an ended session's workspace and of its agent's
conversation. The original stays as it was: you can still review, resume and fork it.
"aibox run --resume" continues the original instead.

All flags of "aibox run" are accepted, except those that choose other files: --repo,
--branch, --clean, --hide, --read-only and --resume. A running session is refused, since its
files may be half written: stop it first.`,
		Example: `  aibox fork 0dq4f --prompt "use a map instead"
  aibox fork 0dq4f --agent codex,claude --prompt "now add a test for it"`,
		Args:              oneBeforeDash,
		ValidArgsFunction: a.complete.resumable,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("resume") {
				return fault.New(fault.Usage, "--resume continues a session, but fork copies one").Hint("aibox run --resume %s", args[0])
			}
			o.request.Forks = args[0]
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				o.request.Args = args[dash:]
			}
			if err := o.readFlags(cmd); err != nil {
				return err
			}
			return a.runWithPromptFile(cmd.Context(), o)
		},
	}
	if a.canCall("fork") {
		o.bind(a, cmd)
		hideFlags(cmd, "repo", "branch", "clean", "hide", "read-only", "resume")
	}
	return cmd
}
