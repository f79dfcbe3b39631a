package cli

import (
	"context"
	"fmt"
	"strings"

	"aibox/app/doctor"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"

	"github.com/spf13/cobra"
)

// doctorOptions are the flags of `aibox doctor`.
type doctorOptions struct {
	*cli

	json, probe bool
	fix         bool
	fixing
}

func newDoctorCommand(a *cli) *cobra.Command {
	o := doctorOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this machine and prove the isolation",
		Long: `Check every requirement and show how to fix those that fail. With --fix, run the
setup: it shows the commands first, asks for confirmation, and uses sudo where it needs
root. It replaces a registered runtime that aibox cannot use only if you confirm that
or pass --replace-runtime. With --probe, start a real sandbox under each network policy
and show what it could and could not reach, and start programs that exceed the limits of
memory, disk, processes and processors.`,
		Example: "  aibox doctor\n  aibox doctor --fix\n  aibox doctor --probe",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.probe, "probe", false, "start sandboxes and test what they can reach and use")
	cmd.Flags().BoolVar(&o.fix, "fix", false, "fix failed requirements, after confirmation")
	cmd.Flags().BoolVar(&o.yes, "yes", false, "with --fix, do not ask for confirmation")
	cmd.Flags().BoolVar(&o.replace, "replace-runtime", false, "with --fix, replace a registered runtime runsc that aibox cannot use")
	return cmd
}

func (o *doctorOptions) run(ctx context.Context) error {
	if o.yes && !o.fix {
		return fault.New(fault.Usage, "--yes needs --fix").Hint("`aibox doctor --fix --yes` sets up without asking")
	}
	if o.replace && !o.fix {
		return fault.New(fault.Usage, "%s needs --fix", doctor.ReplaceFlag).Hint("`%s %s` shows what it replaces and asks first", doctor.SetupCommand, doctor.ReplaceFlag)
	}
	findings := doctor.All(ctx, o.app.Doctor().Checks())
	report := doctorReport{Findings: findings}
	var setupErr error
	if o.fix {
		if report.Findings, setupErr = o.cli.fix(ctx, findings, o.fixing); report.Findings == nil {
			return setupErr
		}
		report.Fixed = doctor.Fixed(findings, report.Findings)
	}
	if !o.json {
		o.printFindings(report)
	}
	missing := doctor.Count(report.Findings, doctor.Missing)
	var err error
	if o.probe && missing == 0 {
		if report.Proof, err = o.proveByLines(ctx, o.json); err != nil {
			return err
		}
	}
	if o.json {
		err = printJSON(o.out, report)
	}
	switch {
	case err != nil:
		return err
	case setupErr != nil:
		return setupErr
	case missing > 0:
		return fault.New(fault.Environment, "%d of %d requirements %s not met", missing, len(report.Findings), map[bool]string{true: "is", false: "are"}[missing == 1]).
			Hint("each line above shows how to fix it")
	case report.Proof != nil && report.Proof.Failed > 0:
		return fault.New(fault.Refused, "%d of %d probes failed: the sandbox is not isolated", report.Proof.Failed, len(report.Proof.Results))
	default:
		return nil
	}
}

// doctorReport is the whole of doctor's answer, also its JSON.
type doctorReport struct {
	Findings []doctor.Finding `json:"findings"`
	Fixed    []string         `json:"mended,omitempty"` // names of findings that --fix made better
	Proof    *doctor.Proof    `json:"proof,omitempty"`
}

// proveByLines proves the isolation and prints each probe as it ends, unless quiet.
func (o *doctorOptions) proveByLines(ctx context.Context, quiet bool) (*doctor.Proof, error) {
	progress := newSteps(o.err, o.errTerm)
	lines := proofTable{out: o.out, term: o.term}
	if !quiet {
		fmt.Fprintln(o.out)
	}
	service, err := o.app.Sessions()
	if err != nil {
		return nil, err
	}
	image := func(ctx context.Context, spec *session.Spec) (runtime.ImageID, error) {
		return o.app.FindImage(ctx, spec, o.offerToBake)
	}
	proof, err := o.app.Doctor().Prove(ctx, service, image, func(step session.Step) {
		switch {
		case step.Probe == nil:
			progress.handle(step)
		case !quiet:
			progress.between(func() { lines.take(step) })
		}
	})
	progress.close()
	if err == nil && !quiet {
		o.printProof(proof)
	}
	return proof, err
}

func (o *doctorOptions) printFindings(r doctorReport) {
	var rows [][]string
	for _, f := range doctor.MissingImagesAsOne(r.Findings) {
		mark := o.term.good("✓")
		switch f.State {
		case doctor.Warning:
			mark = o.term.warn("!")
		case doctor.Missing:
			mark = o.term.style("31", "✗")
		}
		detail := safe(f.Detail)
		if f.Fix != "" {
			detail += "  → " + safe(f.Fix)
		}
		rows = append(rows, []string{mark + " " + f.Name, detail})
	}
	_ = o.explained(rows)
	if len(r.Fixed) > 0 {
		fmt.Fprintf(o.out, "\nfixed: %s\n", strings.Join(r.Fixed, ", "))
	}
}
