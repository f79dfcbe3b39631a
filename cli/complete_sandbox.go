package cli

import (
	"context"
	"slices"
	"strings"

	"aibox/app/sandbox"
	"aibox/internal/termtext"
	"aibox/session"

	"github.com/spf13/cobra"
)

// alive selects the sandboxes that can be used.
var alive = sandbox.Filter{States: []sandbox.State{sandbox.Creating, sandbox.Running, sandbox.Paused}}

// sandboxes completes the id of a sandbox that can be used.
func (c completer) sandboxes(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return c.allSandboxes(cmd, nil, typed)
}

// allSandboxes completes any number of ids of sandboxes that can be used.
func (c completer) allSandboxes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	if service := c.sandboxService(); service != nil {
		page, _ := service.List(cmd.Context(), session.LocalTenant, alive, sandbox.MaxPage, "")
		for _, s := range page.Sandboxes {
			if id := string(s.ID); !slices.Contains(args, id) {
				words = append(words, id+"\t"+firstLine(strings.TrimSpace(s.Template+" "+termtext.Escape(s.Name)), 60))
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// sandboxPlaces completes the id in ID:PATH, of which a copy has one, and files.
func (c completer) sandboxPlaces(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	words, _ := c.allSandboxes(cmd, nil, "")
	return oneOfPlaces(words, args)
}

// snapshots completes any number of ids of snapshots.
func (c completer) snapshots(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var words []string
	if service := c.sandboxService(); service != nil {
		all, _ := service.ListSnapshots(cmd.Context(), session.LocalTenant)
		for _, s := range all {
			if !slices.Contains(args, s.ID) {
				words = append(words, s.ID+"\t"+firstLine(strings.TrimSpace(s.Spec.Sandbox.Template+" "+termtext.Escape(s.Name)), 60))
			}
		}
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// sandboxService returns the use cases of sandboxes; nil if they cannot be opened.
func (c completer) sandboxService() *sandbox.Service {
	service, err := c.app.Sessions()
	if err != nil {
		return nil
	}
	sandboxes, err := c.app.Sandboxes(service)
	if err != nil {
		return nil
	}
	return sandboxes
}

// volumes completes the names of the user's volumes.
func (c completer) volumes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	names := slices.DeleteFunc(c.volumeNames(cmd.Context()), func(name string) bool { return slices.Contains(args, name) })
	return names, cobra.ShellCompDirectiveNoFileComp
}

// volumeMounts completes the name in NAME:PATH.
func (c completer) volumeMounts(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	words := c.volumeNames(cmd.Context())
	for i := range words {
		words[i] += ":"
	}
	return words, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// volumeNames returns the names of the user's volumes.
func (c completer) volumeNames(ctx context.Context) (names []string) {
	sandboxes := c.sandboxService()
	if sandboxes == nil {
		return nil
	}
	all, _ := sandboxes.ListVolumes(ctx, session.LocalTenant)
	for _, v := range all {
		names = append(names, v.Name)
	}
	return names
}
