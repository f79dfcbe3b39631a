package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aibox/app"
	"aibox/internal/fault"
	"aibox/internal/prompts"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// promptsOptions is one call of `aibox prompts`.
type promptsOptions struct{ *cli }

func newPromptsCommand(a *cli) *cobra.Command {
	o := promptsOptions{cli: a}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prompts",
		Short: "List your system prompts",
		Long: `List the system prompts that "aibox run --system NAME" puts before a task: Markdown
files in your configuration folder, and those in ` + prompts.RepositoryFolder + ` of this repository. If both have the
same name, the one in the repository is called repo:NAME.`,
		Example: `  aibox prompts
  aibox prompts edit careful
  aibox run codex --system careful --prompt "fix the failing test"`,
		Args: knownCommand,
		RunE: func(*cobra.Command, []string) error { return o.list(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(&cobra.Command{
		Use:               "show NAME",
		Short:             "Print a system prompt",
		Example:           "  aibox prompts show careful",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.complete.prompts,
		RunE:              func(_ *cobra.Command, args []string) error { return o.show(args[0]) },
	}, &cobra.Command{
		Use:               "edit NAME",
		Short:             "Create or edit one of your system prompts",
		Example:           "  aibox prompts edit careful",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.complete.prompts,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.edit(cmd.Context(), args[0]) },
	})
	return cmd
}

func (o *promptsOptions) list(asJSON bool) error {
	library, err := app.Prompts(".")
	if err != nil {
		return err
	}
	all, damaged := library.All()
	if asJSON {
		if all == nil {
			all = []prompts.Prompt{}
		}
		return errors.Join(printJSON(o.out, all), damaged)
	}
	if len(all) == 0 && damaged == nil {
		fmt.Fprintln(o.err, "no system prompts; `aibox prompts edit NAME` creates one")
		return nil
	}
	var rows [][]string
	for _, p := range all {
		rows = append(rows, []string{p.Name, string(p.Source), termtext.Escape(firstLine(p.Title(), 60))})
	}
	if damaged != nil {
		damaged = fault.New(fault.Usage, "not every system prompt can be read: %w", damaged)
	}
	return errors.Join(o.overview("NAME\tOF\tBEGINS", rows), damaged)
}

func (o *promptsOptions) show(name string) error {
	library, err := app.Prompts(".")
	if err != nil {
		return err
	}
	prompt, err := library.Find(name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(o.out, safe(prompt.Text))
	return err
}

func (o *promptsOptions) edit(ctx context.Context, name string) error {
	library, err := app.Prompts(".")
	if err != nil {
		return err
	}
	path, err := library.Path(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := o.console.edit(ctx, path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(o.err, "nothing was saved")
		return nil
	}
	_, err = library.Find(name)
	return err
}
