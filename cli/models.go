package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"aibox/app"
	"aibox/internal/fault"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// modelsOptions are the flags of `aibox models`.
type modelsOptions struct {
	*cli

	inference string
	json      bool
	refresh   bool
}

func newModelsCommand(a *cli) *cobra.Command {
	o := modelsOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "models",
		Short: "List the models of a model server",
		Long: `List the models that a model server offers, with their context sizes where the server
reports them. Without --inference, ask the server that a run would use. A local server
is asked every time, a remote one at most every five minutes.`,
		Example: "  aibox models\n  aibox models --inference openrouter\n  aibox models --inference http://127.0.0.1:8000/v1 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.inference, err = inferenceOf(a.app, cmd); err != nil {
				return err
			}
			return o.run(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&o.inference, "inference", "", "ask this `SERVER`: auto, a provider's name or a URL; the default is the setting inference")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	cmd.Flags().BoolVar(&o.refresh, "refresh", false, "always ask the server, and fail if it does not answer")
	_ = cmd.RegisterFlagCompletionFunc("inference", fixed(app.InferenceNames()...))
	return cmd
}

// inferenceOf returns the model server of a command line: the flag, or else the setting for
// the repository.
func inferenceOf(a *app.App, cmd *cobra.Command) (string, error) {
	if flag := cmd.Flag("inference"); flag != nil && flag.Changed {
		return flag.Value.String(), nil
	}
	repo := "."
	if flag := cmd.Flag("repo"); flag != nil {
		repo = flag.Value.String()
	}
	resolved, err := a.Settings(repo)
	if err != nil {
		return "", err
	}
	return resolved.Settings.Inference, nil
}

func (o *modelsOptions) run(ctx context.Context) error {
	if err := o.askAboutServer(ctx, o.inference); err != nil {
		return err
	}
	report, err := o.app.Models(ctx, o.inference, o.refresh)
	if err != nil {
		return err
	}
	if report.Stale {
		fmt.Fprintf(o.err, "%s %s; this is its list of %s\n", o.errTerm.warn("!"), safe(report.Err.Error()), report.Asked.Local().Format(time.DateTime))
	}
	if o.json {
		return printJSON(o.out, report)
	}
	if report.Models == nil {
		return fault.New(fault.Environment, "%s does not list its models", report.Server).Hint("aibox run --inference %s --model ID …", o.inference)
	}
	return o.print(report)
}

func (o *modelsOptions) print(report app.ModelReport) error {
	where := report.Server
	if report.Address != "" && report.Address != where {
		where = fmt.Sprintf("%s (%s)", where, report.Address)
	}
	fmt.Fprintf(o.err, "%s, asked %s\n", safe(where), report.Asked.Local().Format(time.TimeOnly))
	for _, other := range report.Others {
		fmt.Fprintf(o.err, "also there: --inference %s\n", safe(other))
	}
	header, sized := "MODEL\tCONTEXT", slices.ContainsFunc(report.Models, func(m app.Model) bool { return m.Size > 0 })
	if sized {
		header += "\tSIZE"
	}
	rows := make([][]string, 0, len(report.Models))
	for _, model := range report.Models {
		row := []string{termtext.Escape(model.ID), windowText(model)}
		if sized {
			row = append(row, gigabytes(model.Size))
		}
		rows = append(rows, row)
	}
	return table(o.out, header, rows)
}

// windowText returns the context size in tokens. "up to" means that only the model's limit
// is known, not the server's configuration.
func windowText(model app.Model) string {
	switch {
	case model.Context > 0:
		return strconv.Itoa(model.Context)
	case model.Limit > 0:
		return "up to " + strconv.Itoa(model.Limit)
	default:
		return "-"
	}
}

// gigabytes formats a size in bytes as model servers do.
func gigabytes(size int64) string {
	if size == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f GB", float64(size)/1e9)
}
