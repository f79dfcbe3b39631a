package cli

import (
	"context"
	"os"
	"slices"

	"aibox/api/auth"
	"aibox/api/store"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/session"

	"github.com/spf13/cobra"
)

// tokens completes any number of ids of tokens that are not revoked.
func (c completer) tokens(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	for _, t := range storedTokens(cmd.Context()) {
		if t.Revoked.IsZero() && !slices.Contains(args, t.ID) {
			words = append(words, t.ID+"\t"+string(t.Tenant)+" "+termtext.Escape(t.Name))
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// tenants completes the name of a tenant that has a token, and of the user's own.
func (c completer) tenants(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	words := []string{string(session.LocalTenant)}
	for _, t := range storedTokens(cmd.Context()) {
		words = append(words, string(t.Tenant))
	}
	slices.Sort(words)
	return slices.Compact(words), cobra.ShellCompDirectiveNoFileComp
}

// storedTokens returns all tokens. It makes no database.
func storedTokens(ctx context.Context) (tokens []store.Token) {
	dirs, err := paths.Default()
	if err != nil {
		return nil
	}
	if _, err := os.Stat(store.Path(dirs)); err != nil {
		return nil
	}
	ctx = inContext(ctx)
	_ = withStore(ctx, func(s *store.Store) (err error) {
		tokens, err = s.Tokens(ctx)
		return err
	})
	return tokens
}

// rightNames returns the names of all rights.
func rightNames() (names []string) {
	for _, right := range auth.Rights() {
		names = append(names, auth.RightName(right))
	}
	return names
}
