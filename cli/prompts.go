package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/prompts"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/workspace"

	"github.com/spf13/cobra"
)

func (a *app) promptsCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "prompts",
		Short: "List your system prompts",
		Long: `List the system prompts that "aibox run --system NAME" puts before a task: Markdown
files in your configuration folder, and those in ` + prompts.RepositoryFolder + ` of this repository. One of
the repository that has the name of your own is called repo:NAME.`,
		Example: `  aibox prompts
  aibox prompts edit careful
  aibox run codex --system careful --prompt "fix the failing test"`,
		Args: knownCommand,
		RunE: func(*cobra.Command, []string) error { return a.prompts(asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(&cobra.Command{
		Use:               "show NAME",
		Short:             "Print a system prompt",
		Example:           "  aibox prompts show careful",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completePrompts,
		RunE:              func(_ *cobra.Command, args []string) error { return a.showPrompt(args[0]) },
	}, &cobra.Command{
		Use:               "edit NAME",
		Short:             "Write or change one of your system prompts in your editor",
		Example:           "  aibox prompts edit careful",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completePrompts,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.editPrompt(cmd.Context(), args[0]) },
	})
	return cmd
}

// library is the system prompts of the user and of the repository at path. A
// repository that is a URL has none before it was cloned.
func (a *app) library(path string) (prompts.Library, error) {
	dirs, err := paths.Default()
	if err != nil {
		return prompts.Library{}, err
	}
	if workspace.IsURL(path) {
		path = ""
	}
	return prompts.Open(filepath.Join(dirs.Config, "prompts"), topOf(path)), nil
}

// topOf is the top of the working tree that path, links followed, lies in, or ""
// where there is none. As for git, a folder .git without a HEAD is not one.
func topOf(path string) string {
	if path == "" {
		return ""
	}
	absolute, err := filepath.Abs(path)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	for dir := absolute; err == nil; dir = filepath.Dir(dir) {
		info, missing := os.Lstat(filepath.Join(dir, ".git"))
		if missing == nil && info.IsDir() {
			_, missing = os.Lstat(filepath.Join(dir, ".git", "HEAD"))
		}
		if missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}

func (a *app) prompts(asJSON bool) error {
	library, err := a.library(".")
	if err != nil {
		return err
	}
	all, damaged := library.All()
	if asJSON {
		if all == nil {
			all = []prompts.Prompt{}
		}
		return errors.Join(printJSON(a.out, all), damaged)
	}
	if len(all) == 0 && damaged == nil {
		fmt.Fprintln(a.err, "no system prompts; `aibox prompts edit NAME` writes one")
		return nil
	}
	var rows [][]string
	for _, p := range all {
		rows = append(rows, []string{p.Name, string(p.Source), termtext.Escape(firstLine(p.Title(), 60))})
	}
	if damaged != nil {
		damaged = fault.New(fault.Usage, "not every system prompt can be read: %w", damaged)
	}
	return errors.Join(a.overview("NAME\tOF\tBEGINS", rows), damaged)
}

func (a *app) showPrompt(name string) error {
	library, err := a.library(".")
	if err != nil {
		return err
	}
	prompt, err := library.Find(name)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(a.out, safe(prompt.Text))
	return err
}

func (a *app) editPrompt(ctx context.Context, name string) error {
	library, err := a.library(".")
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
	if err := a.edit(ctx, path); err != nil {
		return err
	}
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		fmt.Fprintln(a.err, "nothing was saved")
		return nil
	}
	_, err = library.Find(name)
	return err
}

// completePrompts completes the name of a system prompt.
func (a *app) completePrompts(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	library, err := a.library(".")
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := library.All()
	var words []string
	for _, p := range all {
		words = append(words, p.Name+"\t"+termtext.Escape(firstLine(p.Title(), 60)))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// systemPrompts are the named prompts, in this order, each once.
func (a *app) systemPrompts(repo string, names []string) ([]session.SystemPrompt, error) {
	if len(names) == 0 {
		return nil, nil
	}
	library, err := a.library(repo)
	if err != nil {
		return nil, err
	}
	var chosen []session.SystemPrompt
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			continue
		}
		seen[name] = true
		prompt, err := library.Find(name)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, session.SystemPrompt{Name: name, Text: prompt.Text})
	}
	return chosen, nil
}
