package cli

import (
	"context"
	"fmt"
	"os"

	"aibox/app/settings"
	"aibox/internal/fault"
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
	editor := o.app.SettingsEditor()
	file, err := settings.File()
	if err != nil {
		return err
	}
	discard, err := editor.Create(ctx)
	if err != nil {
		return err
	}
	defer discard()
	for {
		if err := o.edit(ctx, file); err != nil {
			return err
		}
		invalid := editor.Validate()
		if invalid == nil {
			return nil
		}
		o.report(invalid)
		again, err := o.offer(ctx, "Edit it again?")
		if err != nil && fault.KindOf(err) != fault.Interrupted { // ctrl-c means no
			return err
		}
		if !again {
			return fault.New(fault.Usage, "the settings are invalid, and nothing runs until you fix them").
				Hint("`aibox config edit` opens them again")
		}
	}
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
		ValidArgsFunction: a.complete.settingAndValue,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.app.SettingsEditor().Set(cmd.Context(), args[0], args[1]); err != nil {
				return err
			}
			a.printChanged()
			if args[0] == "allow" {
				a.warnOfUnusedList()
			}
			return nil
		},
	}
}

// warnOfUnusedList prints a warning if the policy in the settings has no use for their allow list.
func (a *cli) warnOfUnusedList() {
	if unused := a.unusedList(); unused != "" {
		fmt.Fprintf(a.err, "%s %s\n", a.errTerm.warn("!"), unused)
	}
}

// unusedList returns a sentence if the policy in the settings has no use for their allow list, and
// otherwise "". Only the flag --allow selects the policy allowlist.
func (a *cli) unusedList() string {
	a.app.ForgetUserSettings()
	own, err := a.app.UserSettings()
	if err != nil || len(own.Settings.Allow) == 0 || own.Settings.Visible("allow") {
		return ""
	}
	return fmt.Sprintf("this list has no effect under the network policy %s; `aibox config set network allowlist` uses it", own.Settings.Network)
}

func newConfigUnsetCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:               "unset KEY",
		Short:             "Remove one setting from your file",
		Example:           "  aibox config unset timeout",
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: a.complete.settings,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.app.SettingsEditor().Unset(cmd.Context(), args[0]); err != nil {
				return err
			}
			a.printChanged()
			return nil
		},
	}
}

// printChanged prints the path of the settings file, if there is one.
func (c *console) printChanged() {
	file, err := settings.File()
	if err != nil {
		return
	}
	if _, err := os.Stat(file); err == nil {
		fmt.Fprintf(c.err, "%s %s\n", c.errTerm.good("✓"), termtext.Escape(file))
	}
}
