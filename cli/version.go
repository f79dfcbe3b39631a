package cli

import (
	"fmt"
	"runtime/debug"

	"aibox/review/risk"

	"github.com/spf13/cobra"
)

// Version is set by the build (-ldflags -X); without it, the build information of the Go
// toolchain names the commit.
var Version string

func newVersionCommand(a *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version of aibox and of its risk rules",
		Example: "  aibox version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return printJSON(a.out, map[string]string{"version": version(), "rules": risk.RulesVersion})
			}
			_, err := fmt.Fprintf(a.out, "aibox %s\nrisk rules %s\n", version(), risk.RulesVersion)
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func version() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return info.Main.Version
}
