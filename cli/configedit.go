package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aibox/app"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// configEditOptions is one call of `aibox config edit`.
type configEditOptions struct{ *cli }

func newConfigEditCommand(a *cli) *cobra.Command {
	o := configEditOptions{cli: a}
	return &cobra.Command{
		Use:   "edit",
		Short: "Edit your settings file",
		Long: `Open your settings file in $VISUAL or $EDITOR, and check it when you close the editor.
If there is no file yet, you start with one that lists every setting.`,
		Example: "  aibox config edit",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
}

func (o *configEditOptions) run(ctx context.Context) error {
	file, err := app.UserSettingsFile()
	if err != nil {
		return err
	}
	template, err := config.Template()
	if err != nil {
		return err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		if err := writeSettings(file, template); err != nil {
			return err
		}
		defer dropTemplate(file, template)
	}
	for {
		if err := o.edit(ctx, file); err != nil {
			return err
		}
		wrong := o.check(file)
		if wrong == nil {
			return nil
		}
		o.report(wrong)
		if !o.offer("Edit it again?") {
			return fault.New(fault.Usage, "the settings are invalid, and nothing runs until you fix them").
				Hint("`aibox config edit` opens them again")
		}
	}
}

// dropTemplate removes the template that the user did not change.
func dropTemplate(file string, template []byte) {
	if data, err := os.ReadFile(file); err == nil && bytes.Equal(data, template) {
		_ = os.Remove(file)
	}
}

// checkSettings checks the user's own file.
func (o *configEditOptions) check(file string) error {
	document, err := config.ReadUser(file)
	if err == nil {
		_, err = o.app.Catalog().Resolve(config.Input{User: document})
	}
	return err
}

func newConfigSetCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "set KEY VALUE",
		Short: "Change one setting; the rest of the file is unchanged",
		Example: `  aibox config set timeout 30m
  aibox config set hide '*.key,vault'
  aibox config set agents.codex.reasoning-effort high
  aibox config set images.versions.codex 0.169.0`,
		Args:              cobra.ExactArgs(2),
		ValidArgsFunction: a.completeSet,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeSettings(func(document *config.Document) ([]byte, error) {
				return a.app.Catalog().With(document, args[0], args[1])
			})
		},
	}
}

func newConfigUnsetCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:               "unset KEY",
		Short:             "Remove one setting from your file",
		Example:           "  aibox config unset timeout",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.completeSettings,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.changeSettings(func(document *config.Document) ([]byte, error) {
				return a.app.Catalog().Without(document, args[0])
			})
		},
	}
}

// changeSettings replaces the user's own file by what change makes of it, and says so.
func (c *console) changeSettings(change func(*config.Document) ([]byte, error)) error {
	file, err := rewriteSettings(change)
	if err == nil && file != "" {
		fmt.Fprintf(c.err, "%s %s\n", c.errTerm.good("✓"), termtext.Escape(file))
	}
	return err
}

// rewriteSettings replaces the user's own file by what change makes of it, and gives
// its name, which is empty when there was nothing to write.
func rewriteSettings(change func(*config.Document) ([]byte, error)) (string, error) {
	file, err := app.UserSettingsFile()
	if err != nil {
		return "", err
	}
	document, err := config.ReadUser(file)
	if err != nil {
		return "", app.SettingsFault(err)
	}
	data, err := change(document)
	if err != nil || document == nil && len(data) == 0 {
		return "", err
	}
	return file, writeSettings(file, data)
}

// writeSettings writes the user's own file, and what it links to when it is a link.
func writeSettings(file string, data []byte) error {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		real, err = file, os.MkdirAll(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = paths.WriteFile(real, data)
	}
	if err != nil {
		return fault.New(fault.Environment, "%s cannot be written: %w", termtext.Escape(file), err).
			Hint("make its folder writable, or set XDG_CONFIG_HOME to another one")
	}
	return nil
}

// completeSet completes a key, and then the values that it may have.
func (a *cli) completeSet(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.completeSettings(cmd, args, prefix)
	}
	resolved, err := a.app.Catalog().Resolve(config.Input{})
	if err != nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	setting, err := resolved.Find(args[0])
	switch {
	case err != nil:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case setting.Key == "agent":
		return a.completeAgents(cmd, nil, prefix)
	default:
		return setting.Values(), cobra.ShellCompDirectiveNoFileComp
	}
}
