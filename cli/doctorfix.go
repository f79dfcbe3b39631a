package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"aibox/app/doctor"
	"aibox/internal/fault"
	"aibox/internal/shellquote"
)

// fixing is how --fix works.
type fixing struct {
	yes     bool // without a question
	replace bool // replace a runtime that another program registered
}

// args returns the flags of doctor for a run without a question.
func (f fixing) args() []string {
	args := []string{doctor.SetupCommand, "--yes"}
	if f.replace {
		args = append(args, doctor.ReplaceFlag)
	}
	return args
}

// fix shows what the setup would do about the findings, asks, runs it and checks again. The
// question covers the replacement of a runtime that another program registered; how.yes does not.
// Findings with an error mean that the setup stopped; nil findings mean that it was not started.
func (a *cli) fix(ctx context.Context, found []doctor.Finding, how fixing) ([]doctor.Finding, error) {
	if system, _ := a.app.SystemDocker(); system {
		return nil, fault.New(fault.Usage, "--fix sets up rootless Docker, but --rootful asks for the system's Docker").
			Hint("remove --rootful, or the setting rootful")
	}
	if os.Getuid() == 0 {
		return nil, fault.New(fault.Usage, "rootless Docker needs a user other than root, and you are root").
			Hint("as that user: %s", doctor.SetupCommand).Hint("or from a checkout of aibox: scripts/setup-rootless-gvisor.sh --user NAME")
	}
	if !slices.ContainsFunc(found, doctor.Finding.FixedBySetup) {
		fmt.Fprintln(a.err, "nothing is missing that the setup could fix")
		return found, nil
	}
	setup, err := doctor.OpenSetup()
	if err != nil {
		return nil, err
	}
	defer setup.Close()
	replaced, consented := doctor.Replaced(found), how.replace
	how.replace = consented || len(replaced) > 0
	setup.Replace = how.replace
	if err := a.showSetupPlan(ctx, setup, replaced); err != nil {
		return nil, err
	}
	switch {
	case how.yes && how.replace && !consented:
		return nil, fault.New(fault.Usage, "--yes does not allow replacing a runtime that is registered with Docker; nothing was changed").
			Hint("`%s --yes %s` replaces it", doctor.SetupCommand, doctor.ReplaceFlag).
			Hint("`%s` asks first", doctor.SetupCommand)
	case !how.yes:
		agreed, err := a.askToFix(ctx, how)
		if err != nil {
			return nil, err
		}
		if !agreed {
			return found, nil
		}
	}
	// An interrupt reaches the setup too, because it shares the terminal. Killing it here as well
	// would leave packages half installed.
	err = setup.Run(context.WithoutCancel(ctx), a.err)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		err = fault.New(fault.Environment, "the setup failed; see its output above").Hint("follow its advice, then: %s", doctor.SetupCommand)
	}
	fmt.Fprintln(a.err)
	return doctor.All(ctx, a.app.Doctor().Checks()), err
}

// showSetupPlan prints the command of the setup, what it would do, and what it would replace.
func (c *console) showSetupPlan(ctx context.Context, setup *doctor.Setup, replaced []string) error {
	plan, err := setup.Plan(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.err, "To run, as you, with sudo where it needs root:\n\n  %s\n\nIt would do this, then start a container as a test:\n\n", safe(shellquote.Join(setup.Command())))
	for _, step := range plan {
		fmt.Fprintf(c.err, "  %s\n", safe(step))
	}
	for _, registered := range replaced {
		fmt.Fprintf(c.err, "\nIt would replace this runtime, which is registered with Docker:\n\n  %s\n", safe(registered))
	}
	fmt.Fprintln(c.err)
	return nil
}

// askToFix asks whether to run the setup. The return key means no.
func (c *console) askToFix(ctx context.Context, how fixing) (bool, error) {
	if !c.errTerm.interactive || !terminalOf(c.in).interactive {
		return false, fault.New(fault.Usage, "there is no terminal to ask for confirmation").Hint("`%s` does it without asking", strings.Join(how.args(), " "))
	}
	question := "Do that? [y/N] "
	if how.replace {
		question = "Do that, and replace the registered runtime? [y/N] "
	}
	agreed, err := c.yes(ctx, question)
	switch {
	case err != nil:
		return false, fault.New(fault.Interrupted, "interrupted; nothing was changed")
	case !agreed:
		fmt.Fprint(c.err, "nothing was changed\n\n")
	}
	return agreed, nil
}
