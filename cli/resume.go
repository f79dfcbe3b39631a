package cli

import (
	"aibox/session"

	"github.com/spf13/cobra"
)

// completeResumable completes --resume with the sessions that have ended.
func (a *cli) completeResumable(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	service, err := a.app.Sessions()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	briefs, _ := service.Summaries()
	var words []string
	for _, b := range briefs {
		if b.Phase == session.Ended && b.ContinuedBy == "" {
			words = append(words, string(b.ID)+"\t"+firstLine(b.Task, 40))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}
