package cli

import (
	"context"
	"os"
	"path/filepath"
	"runtime/debug"

	"aibox/api/mcp"
	"aibox/app/agentsession"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/workspace"

	"github.com/spf13/cobra"
)

// mcpOptions are the flags of `aibox mcp`.
type mcpOptions struct {
	*cli

	repositories []string
	settings     config.RunOverrides
}

func newMCPCommand(a *cli) *cobra.Command {
	o := mcpOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve sandboxes and agents to an MCP client",
		Long: `Serve the Model Context Protocol on standard input and output, for clients such as
Claude Code, Codex, Cursor and Gemini CLI. The client's model can then run coding agents
in sandboxes, read their changes, and accept them on a branch.

Agents can run on the repository of the current directory, or on those that --repo
names. The settings are the upper bound for what the client can ask for: hosts that
--allow names can be allowed, and no others. Files with risks stay for you to accept.`,
		Example: `  claude mcp add aibox -- aibox mcp --repo ~/src/shop
  codex mcp add aibox -- aibox mcp --repo ~/src/shop --timeout 20m
  aibox mcp --repo ~/src/shop --network allowlist --allow npm`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.repositories, "repo", nil, "let agents run on the repository at `PATH` or a URL (repeatable); default is the current directory")
	a.bindSettings(cmd, &o.settings)
	return cmd
}

func (o *mcpOptions) run(ctx context.Context) error {
	if terminalOf(o.in).interactive {
		return fault.New(fault.Usage, "`aibox mcp` talks to an MCP client on standard input, and that is a terminal").
			Hint("let a client start it: claude mcp add aibox -- aibox mcp").
			Hint("docs/mcp.md has the settings of other clients")
	}
	debug.SetGCPercent(100) // it stays for hours, and should be small
	repositories, err := o.resolveRepositories()
	if err != nil {
		return err
	}
	sessions, err := o.app.Sessions()
	if err != nil {
		return err
	}
	o.repair(ctx, sessions)
	agents, err := o.app.AgentSessions(sessions, o.settings, agentsession.Policy{Tenant: session.LocalTenant, Repositories: repositories})
	if err != nil {
		return err
	}
	return mcp.Serve(ctx, mcp.Config{Version: version(), Repositories: repositories, Sessions: agents}, o.in, os.Stdout)
}

// resolveRepositories returns absolute paths and URLs of the repositories on which agents
// can run.
func (o *mcpOptions) resolveRepositories() ([]string, error) {
	given := o.repositories
	if len(given) == 0 {
		given = []string{"."}
	}
	var all []string
	for _, name := range given {
		if workspace.IsURL(name) {
			all = append(all, name)
			continue
		}
		top, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		if tree := workspace.WorkingTree(top); tree != "" {
			top = tree
		} else if len(o.repositories) == 0 {
			return nil, nil // the client started aibox in no repository
		} else {
			return nil, fault.New(fault.Usage, "%s is not in a git repository", name).Hint("--repo PATH names one")
		}
		all = append(all, top)
	}
	return all, nil
}
