package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"aibox/app/agentcheck"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/runtime"
	"aibox/session"

	"github.com/spf13/cobra"
)

// checkOptions are the flags of `aibox agents check`.
type checkOptions struct {
	*cli

	timeout time.Duration
	keep    bool
	json    *bool
}

func newCheckAgentCommand(a *cli, asJSON *bool) *cobra.Command {
	o := checkOptions{cli: a, json: asJSON}
	cmd := &cobra.Command{
		Use:   "check AGENT",
		Short: "Test an agent end to end, step by step",
		Long: `Test an agent: read its file, build its command lines, bake its image, and run it in a
real sandbox on a scratch repository, against the built-in model. The model asks it to
write a file. The check passes if the task reaches the model byte for byte and the
file is written. It repeats this on a terminal where no one answers questions, and
once more to test resuming the conversation. Built-in agents can be checked too.`,
		Example:           "  aibox agents check mybot\n  aibox agents check codex --json",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.complete.agents,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args[0]) },
	}
	lengthVar(cmd.Flags(), &o.timeout, "timeout", 2*time.Minute, "end each run after this time")
	cmd.Flags().BoolVar(&o.keep, "keep", false, "keep the sessions for aibox logs and aibox diff")
	return cmd
}

func (o *checkOptions) run(ctx context.Context, name string) error {
	report, err := agentcheck.Checker{
		App: o.app, Timeout: o.timeout, Keep: o.keep,
		Bake: o.bakeWith,
		Image: func(ctx context.Context, spec *session.Spec) (runtime.ImageID, error) {
			return o.app.FindImage(ctx, spec, o.offerToBake)
		},
		Repair: o.repair,
		Done:   o.printStep,
		NotRemoved: func(id session.ID, err error) {
			fmt.Fprintf(o.err, "%s %s could not be removed: %s\n", o.errTerm.warn("!"), id, safe(err.Error()))
		},
	}.Check(ctx, name)
	if *o.json {
		err = errors.Join(printJSON(o.out, report), err)
	}
	switch failed := report.Failed(); {
	case err != nil:
		return err
	case failed != "":
		return fault.New(fault.AgentFailed, "%s failed the check: %s", name, failed)
	default:
		return nil
	}
}

// printStep prints a step of the check, unless --json is set.
func (o *checkOptions) printStep(step agentcheck.Step) {
	if *o.json {
		return
	}
	mark := map[agentcheck.State]string{
		agentcheck.OK: o.term.good("✓"), agentcheck.Failed: o.term.bad("✗"), agentcheck.Note: o.term.warn("!"), agentcheck.Skipped: o.term.faint("-"),
	}[step.State]
	took := amount.Took(time.Duration(step.Seconds * float64(time.Second)))
	fmt.Fprintf(o.out, "%s %-10s %s %s\n", mark, step.Name, termtext.Escape(step.Detail), o.term.faint(took))
	for _, line := range step.Lines {
		fmt.Fprintf(o.out, "    %s\n", termtext.Escape(line))
	}
	if step.Hint != "" {
		fmt.Fprintf(o.out, "  %s %s\n", o.term.faint("→"), termtext.Escape(step.Hint))
	}
}

// shellAgent runs the command after "--" and nothing else.
const shellAgent = "shell"
