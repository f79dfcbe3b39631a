package cli

import (
	"context"
	"errors"
	"fmt"

	"aibox/review"
	"aibox/session"

	"github.com/spf13/cobra"
)

// maxCompletions bounds how many words a shell is given to choose from.
const maxCompletions = 500

// sessionAndPaths completes an id, then the names of changed files.
func (c completer) sessionAndPaths(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return c.sessions(cmd, args, prefix)
	}
	return c.changed(func(review.Change) bool { return true })(cmd, args, prefix)
}

// changed completes the names of changed files that fit. It leaves out names with
// characters that a shell would escape.
func (c completer) changed(fits func(review.Change) bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		set := c.changeSet(args)
		if set == nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var words []string
		for _, c := range set.Changes {
			if name := c.Path.Raw(); fits(c) && c.Path.String() == name && len(words) < maxCompletions {
				words = append(words, fmt.Sprintf("%s\t%s", name, c.Kind))
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// hunks completes the ids of hunks, several with commas between them.
func (c completer) hunks(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	set := c.changeSet(args)
	if set == nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	enough := errors.New("enough")
	var words []string
	_ = set.Files(inContext(cmd.Context()), func(file review.FileDiff) error {
		for _, h := range file.Hunks {
			if len(words) == maxCompletions {
				return enough
			}
			words = append(words, fmt.Sprintf("%.*s\t%s %s", shortID, h.ID, h.Path, hunkTitle(h, file.Change)))
		}
		return nil
	})
	return afterCommas(words, prefix), cobra.ShellCompDirectiveNoFileComp
}

// changeSet returns the latest change set of the session on the command line, or nil if
// there is none.
func (c completer) changeSet(args []string) *review.ChangeSet {
	service, err := c.app.Sessions()
	if err != nil || len(args) == 0 {
		return nil
	}
	found, err := service.Find(args[0])
	if err != nil || found.State.Phase != session.Ended {
		return nil
	}
	set, err := service.FinalChanges(found.ID)
	if err != nil {
		return nil
	}
	return set
}

// inContext is the command's context, which completion has none of.
func inContext(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}

// sessionAndHunks completes an id, then the ids of hunks.
func (c completer) sessionAndHunks(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return c.sessions(cmd, args, prefix)
	}
	return c.hunks(cmd, args, prefix)
}
