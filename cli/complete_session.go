package cli

import (
	"slices"
	"strings"

	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/summary"

	"github.com/spf13/cobra"
)

// sessions completes the id of a session.
func (c completer) sessions(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.sessionsThat(args, 1, func(*summary.Summary) bool { return true })
}

// running completes the id of a session that has not ended.
func (c completer) running(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.sessionsThat(args, 1, isRunning)
}

// allRunning completes any number of ids of sessions that have not ended.
func (c completer) allRunning(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.sessionsThat(args, len(args)+1, isRunning)
}

// allEnded completes any number of ids of sessions that have ended.
func (c completer) allEnded(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.sessionsThat(args, len(args)+1, func(s *summary.Summary) bool { return !isRunning(s) })
}

// resumable completes the id of a session that has ended and that no other one continues.
func (c completer) resumable(_ *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return c.sessionsThat(nil, 1, func(s *summary.Summary) bool { return s.Phase == session.Ended && s.ContinuedBy == "" })
}

func isRunning(s *summary.Summary) bool { return s.Phase != session.Ended }

// sessionsThat returns the ids of the sessions that fit and are not among args, newest first, if
// args has room for one more of most.
func (c completer) sessionsThat(args []string, most int, fits func(*summary.Summary) bool) ([]string, cobra.ShellCompDirective) {
	const directive = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	service, err := c.app.Sessions()
	if err != nil || len(args) >= most {
		return nil, directive
	}
	all, _ := service.Summaries()
	slices.SortFunc(all, func(a, b summary.Summary) int { return summary.NewestFirst(&a, &b) })
	var words []string
	for i := range all {
		if s := &all[i]; fits(s) && !s.ID.Hidden() && !slices.Contains(args, string(s.ID)) {
			words = append(words, string(s.ID)+"\t"+strings.TrimSuffix(string(s.Status())+": "+termtext.Escape(firstLine(s.Task, 40)), ": "))
		}
	}
	return words, directive
}

// places completes the id in ID:PATH, of which a copy has one, and files.
func (c completer) places(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	words, _ := c.running(cmd, nil, "")
	return oneOfPlaces(words, args)
}

// oneOfPlaces completes the arguments of a copy: words with a colon, and files after one of them.
func oneOfPlaces(words, args []string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 && strings.Contains(args[0], ":") {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return followedBy(":", words), cobra.ShellCompDirectiveNoSpace
}
