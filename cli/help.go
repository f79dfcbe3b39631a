package cli

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the width, in columns, of a help that is not printed to a terminal.
const helpWidth = 100

// help prints the help of a command. It is cobra's own, but with the flags wrapped: cobra could
// wrap them only by a template, which the program must not link (see root).
func (a *cli) help(cmd *cobra.Command, _ []string) {
	width := helpWidth
	if a.term.interactive {
		width = a.term.width
	}
	about := cmd.Long
	if about == "" {
		about = cmd.Short
	}
	text := cmd.UsageString()
	for _, flags := range []*pflag.FlagSet{cmd.LocalFlags(), cmd.InheritedFlags()} {
		if unwrapped := trimEnd(flags.FlagUsages()); unwrapped != "" {
			text = strings.Replace(text, unwrapped, trimEnd(flags.FlagUsagesWrapped(width)), 1)
		}
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n%s", trimEnd(about), text)
}

func trimEnd(text string) string { return strings.TrimRightFunc(text, unicode.IsSpace) }
