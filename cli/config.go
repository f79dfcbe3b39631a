package cli

import (
	"fmt"
	"os"
	"strings"

	"aibox/app/settings"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/workspace"

	"github.com/spf13/cobra"
)

func newConfigCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show and change your settings",
		Long: `Show and change your settings. They come from your own file (aibox config path),
from ` + config.RepositoryName + ` at the top of a repository, AIBOX_… environment variables, and flags; later
sources override earlier ones. A file in a repository may only tighten what you allow,
because an agent may have written it.`,
		Example: `  aibox config show
  aibox config show timeout
  aibox config set timeout 30m
  aibox config edit`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_ = cmd.Help()
			return fault.New(fault.Usage, "no command was given").Hint("`aibox config show` shows the current settings")
		},
	}
	cmd.AddCommand(newConfigPathCommand(a), newConfigShowCommand(a), newConfigEditCommand(a), newConfigSetCommand(a), newConfigUnsetCommand(a), newConfigSchemaCommand(a))
	return cmd
}

func newConfigPathCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "path",
		Short:   "Print the path of your settings file",
		Example: "  aibox config path",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			file, err := settings.File()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(a.out, termtext.Escape(file))
			return err
		},
	}
}

// configShowOptions are the flags of `aibox config show`.
type configShowOptions struct {
	*cli

	repo    string
	changed bool
	json    bool
	key     string // a setting or a table; "" is all
}

func newConfigShowCommand(a *cli) *cobra.Command {
	o := configShowOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "show [KEY]",
		Short: "Show the settings and where each value came from",
		Long: `Show every setting with its value and source, as a run in the repository would use it.
KEY is a setting, or a table of settings such as agents.codex.`,
		Example: `  aibox config show
  aibox config show --changed
  aibox config show agents.codex
  aibox config show timeout --json`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.complete.settings,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				o.key = args[0]
			}
			return o.run()
		},
	}
	cmd.Flags().StringVar(&o.repo, "repo", ".", "use the settings of the repository at `PATH`")
	cmd.Flags().BoolVar(&o.changed, "changed", false, "show only settings that differ from the defaults")
	cmd.Flags().BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *configShowOptions) run() error {
	if _, err := os.Stat(o.repo); err != nil && !workspace.IsURL(o.repo) {
		return fault.New(fault.Usage, "there is no %s", termtext.Escape(o.repo)).Hint("give the repository's folder with --repo")
	}
	resolved, err := o.app.Settings(o.repo)
	if err != nil {
		return err
	}
	shown := resolved.All()
	if o.key != "" {
		if one, err := resolved.Find(o.key); err == nil {
			return o.showSetting(one, o.json)
		} else if shown = below(o.key, shown); len(shown) == 0 {
			return err
		}
	}
	kept := []config.Setting{}
	for _, setting := range shown {
		if !o.changed || setting.Source().Kind != config.BuiltIn {
			kept = append(kept, setting)
		}
	}
	if o.json {
		return printJSON(o.out, kept)
	}
	if len(kept) == 0 {
		fmt.Fprintln(o.err, "nothing is set; `aibox config edit` writes settings")
		return nil
	}
	rows := make([][]string, 0, len(kept))
	for _, setting := range kept {
		rows = append(rows, []string{setting.Key, termtext.Escape(setting.Show()), setting.Origin()})
	}
	return table(o.out, "SETTING\tVALUE\tFROM", rows)
}

// below are the settings of the table called name.
func below(name string, all []config.Setting) []config.Setting {
	var found []config.Setting
	for _, setting := range all {
		if strings.HasPrefix(setting.Key, name+".") {
			found = append(found, setting)
		}
	}
	return found
}

func (o *configShowOptions) showSetting(setting config.Setting, asJSON bool) error {
	if asJSON {
		return printJSON(o.out, setting)
	}
	value := termtext.Escape(setting.Show())
	if value == "" {
		value = "not set"
	}
	rows := [][]string{
		{setting.Key, o.term.bold(value)},
		{"from", setting.Origin()},
		{"what it is", setting.Field.Help},
	}
	rows = append(rows, []string{"takes", setting.Takes()})
	if variable := setting.Variable(); variable != "" {
		rows = append(rows, []string{"variable", variable})
	}
	rows = append(rows, []string{"a repository may", setting.May()})
	return table(o.out, "", rows)
}

func newConfigSchemaCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of the settings file, for editors",
		Example: "  aibox config schema > aibox.schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			schema, err := a.app.Catalog().Schema()
			if err != nil {
				return err
			}
			return printJSON(a.out, schema)
		},
	}
}
