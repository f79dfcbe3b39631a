package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/output"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// verifyFlags are the flags of the command that verifies an agent's work.
type verifyFlags struct {
	command string // for sh; empty for none
	timeout time.Duration
}

func (f *verifyFlags) bind(flags *pflag.FlagSet, builtIn config.Settings) {
	flags.StringVar(&f.command, "verify", "", "run this `COMMAND` on a copy of the work, in a sandbox without network")
	lengthVar(flags, &f.timeout, "verify-timeout", time.Duration(builtIn.VerifyTimeout), "end the verification after this time; 0 for no limit")
}

// check refuses commands that cannot be run. Blanks are not a command.
func (f *verifyFlags) check() (err error) {
	f.command, f.timeout, err = run.CheckVerification(f.command, f.timeout)
	return err
}

// request returns the verification that the flags ask for.
func (f *verifyFlags) request(given func(flag string) bool) (manager.VerifyRequest, error) {
	if err := f.check(); err != nil {
		return manager.VerifyRequest{}, err
	}
	request := manager.VerifyRequest{Command: f.command}
	if given("verify-timeout") {
		request.Timeout = f.timeout
		if request.Timeout == 0 {
			request.Timeout = -1 // no limit
		}
	}
	return request, nil
}

// verifyOptions are the flags of `aibox verify`.
type verifyOptions struct {
	*cli

	verifyFlags
	show, json bool
	number     int

	given func(flag string) bool
}

func newVerifyCommand(a *cli) *cobra.Command {
	o := verifyOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "verify ID",
		Short: "Verify a session's work with a command, in a sandbox",
		Long: `Run a command, such as the tests, on the work of a session. It runs in its own sandbox
without network, in the session's image, on a copy of the agent's workspace that
includes installed packages and other ignored files. Its changes are thrown away.
Without --verify, use the command the session was started with, or the one in your
settings.`,
		Example:           "  aibox verify 0dq4f\n  aibox verify 0dq4f --verify 'make test'\n  aibox verify 0dq4f --show",
		Args:              oneSession,
		ValidArgsFunction: a.complete.sessions,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.given = cmd.Flags().Changed
			return o.run(cmd.Context(), args[0])
		},
	}
	o.bind(cmd.Flags(), config.Defaults())
	cmd.Flags().BoolVar(&o.show, "show", false, "print earlier verifications and the output of the last one")
	cmd.Flags().IntVar(&o.number, "number", 0, "with --show, print the output of verification `N`")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON; the command's output goes to standard error")
	return cmd
}

func (o *verifyOptions) run(ctx context.Context, text string) error {
	if o.show && (o.given("verify") || o.given("verify-timeout")) {
		return fault.New(fault.Usage, "--show does not run a command").Hint("drop --show or the command")
	}
	if o.number != 0 && !o.show {
		return fault.New(fault.Usage, "--number needs --show").Hint("add --show")
	}
	service, found, err := o.find(ctx, text)
	if err != nil {
		return err
	}
	if o.show {
		return o.list(service, found)
	}
	request, err := o.request(o.given)
	if err != nil {
		return err
	}
	if request, err = o.app.VerifyRequest(found, request); err != nil {
		return err
	}
	out := o.out
	if o.json {
		out = o.err
	}
	o.warnUnset(found.Env)
	output := o.agentOutput(out)
	request.Show = output.show
	v, err := service.Verify(ctx, found.ID, request)
	if err = errors.Join(err, output.close()); err != nil {
		return err
	}
	if o.json {
		return errors.Join(printJSON(o.out, v), v.Fault.Err())
	}
	for _, note := range v.Notes {
		fmt.Fprintf(o.err, "note: %s\n", notice(note))
	}
	if v.Passed() {
		fmt.Fprintln(o.err, o.verificationLine(v))
	}
	return v.Fault.Err()
}

// warnUnset warns about variables of a session that are not set now: without them a command may
// fail.
func (c *console) warnUnset(names []string) {
	for _, name := range names {
		if _, ok := os.LookupEnv(name); !ok {
			fmt.Fprintf(c.err, "%s %s is not set here, so the command runs without it\n", c.errTerm.warn("!"), safe(name))
		}
	}
}

// list prints the results of a session's verifications.
func (o *verifyOptions) list(service *manager.Manager, found session.Session) error {
	all, err := service.Verifications(found.ID)
	if err != nil {
		return err
	}
	if o.json {
		if all == nil {
			all = []session.Verification{}
		}
		return printJSON(o.out, all)
	}
	if len(all) == 0 {
		fmt.Fprintf(o.err, "%s has not been verified; run `aibox verify %s`\n", found.ID, found.ID)
		return nil
	}
	for _, v := range all {
		fmt.Fprintf(o.err, "%d %s\n", v.Number, o.verificationLine(v))
	}
	if o.number == 0 {
		o.number = all[len(all)-1].Number
	}
	printed, err := service.VerificationOutput(found.ID, o.number)
	if err != nil {
		return err
	}
	shown := o.agentOutput(o.out)
	err = shown.show(output.Chunk{Stream: output.Stdout, Data: printed})
	return errors.Join(err, shown.close())
}

// verificationLine returns the result of a verification as a line for standard error.
func (c *console) verificationLine(v session.Verification) string {
	took := amount.Took(time.Duration(v.Seconds * float64(time.Second)))
	if v.Passed() {
		return fmt.Sprintf("%s verified: %s passed in %s", c.errTerm.good("✓"), termtext.Escape(firstLine(v.Command, 60)), took)
	}
	return fmt.Sprintf("%s not verified: %s", c.errTerm.bad("✗"), notice(v.Fault.Message))
}

// printVerification prints the result of the last verification of a session's work, if
// any, in the header of a diff. tree is the current work.
func (c *console) printVerification(w io.Writer, service *manager.Manager, id session.ID, tree string) error {
	all, err := service.Verifications(id)
	if err != nil || len(all) == 0 {
		return err
	}
	last := all[len(all)-1]
	note := ""
	if last.Tree != tree {
		note = " (of a part of the work, or before it changed)"
	}
	_, err = fmt.Fprintln(w, c.verificationLine(last)+note)
	return err
}

// awaitEnd waits for the end of an interactive session whose agent has ended, and
// shows the output of its verification.
func (a *cli) awaitEnd(ctx context.Context, service *manager.Manager, id session.ID, quiet bool) (session.Session, error) {
	from, err := service.VerificationStart(ctx, id)
	if err != nil {
		return session.Session{}, err
	}
	if from < 0 {
		return service.Follow(ctx, id, endOfOutput, func(output.Chunk) error { return nil })
	}
	return a.followFrom(ctx, service, id, from, quiet)
}

// verifierAtEnd is the verification that the work of a run has to pass before --accept delivers it.
// The whole work has already passed, but a part of it may still fail. env are the variables of the
// run: without them the command may pass or fail wrongly.
func (i *invocation) verifierAtEnd(env []string, ended session.Session) func(context.Context, string) error {
	output := i.agentOutput(i.err)
	return output.around(i.service.Verifier(ended, manager.VerifyRequest{Env: env, Show: output.show}))
}
