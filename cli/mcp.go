package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"aibox/api/client"
	"aibox/api/mcp"
	"aibox/app/agentsession"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/ports"
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
names. Your settings and these flags limit what the client can ask for: it can allow only
hosts that --allow names, for example. Only you can accept files with risks.`,
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
	api, end, err := o.api(ctx)
	if err != nil {
		return err
	}
	defer end()
	ports := &openPorts{ctx: ctx, api: api, sessions: sessions}
	return mcp.Serve(ctx, mcp.Config{
		Version: version(), Repositories: repositories, Sessions: agents,
		Sandboxes: &mcp.Sandboxes{
			API: func(ctx context.Context, _ http.Header) (context.Context, *client.Client) { return ctx, api },
			Bound: func(_ context.Context, _ string, given config.RunOverrides) error {
				return o.app.CheckSandbox(o.settings, given)
			},
			Base:     o.sandboxSettings(),
			OpenPort: ports.open,
		},
	}, o.in, os.Stdout)
}

// sandboxSettings are the settings of this command for all its sandboxes. They apply to a sandbox
// only if its call asks for them.
func (o *mcpOptions) sandboxSettings() map[string]string {
	base := map[string]string{}
	for _, key := range []string{"timeout", "idle-timeout", "memory", "cpus", "pids", "egress-upload", "egress-download", "egress-upload-host", "egress-download-host"} {
		if o.settings.Has(key) {
			base[key] = o.settings.Text(key)
		}
	}
	return base
}

// openPorts are ports of sandboxes that are open on the host's loopback until the command
// ends.
type openPorts struct {
	ctx      context.Context //nolint:containedctx // of the command, which the ports outlive no call of
	api      *client.Client
	sessions *manager.Manager

	lock sync.Mutex // guards urls
	urls map[string]string
}

// maxOpenPorts is how many ports can be open at once.
const maxOpenPorts = 32

// open opens a port and returns its URL. A port that is open already keeps its URL.
func (p *openPorts) open(ctx context.Context, _ http.Header, id string, port int) (string, error) {
	if _, err := p.api.Get(ctx, id); err != nil {
		return "", err
	}
	key := fmt.Sprintf("%s:%d", id, port)
	p.lock.Lock()
	defer p.lock.Unlock()
	switch url := p.urls[key]; {
	case url != "":
		return url, nil
	case len(p.urls) >= maxOpenPorts:
		return "", fault.New(fault.Limit, "%d ports are open, the maximum", maxOpenPorts).Hint("destroy a sandbox, which closes its ports")
	}
	opening, cancel := context.WithCancel(p.ctx)
	opened, failed := make(chan string, 1), make(chan error, 1)
	go func() {
		defer cancel()
		err := p.sessions.OpenPort(opening, session.ID(id), ports.Request{Port: uint16(port)}, func(u ports.Update) error {
			if u.Address != "" {
				opened <- u.Address
			}
			return nil
		})
		failed <- err
		p.lock.Lock()
		defer p.lock.Unlock()
		delete(p.urls, key)
	}()
	select {
	case address := <-opened:
		if p.urls == nil {
			p.urls = map[string]string{}
		}
		p.urls[key] = "http://" + address
		return p.urls[key], nil
	case err := <-failed:
		if err == nil {
			err = fault.New(fault.Conflict, "the sandbox %s has ended", id)
		}
		return "", err
	case <-ctx.Done():
		cancel()
		return "", ctx.Err()
	}
}

// resolveRepositories returns the repositories on which agents can run.
func (o *mcpOptions) resolveRepositories() ([]string, error) {
	if len(o.repositories) > 0 {
		return workingTrees(o.repositories)
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		return nil, err
	}
	if tree := workspace.WorkingTree(folder); tree != "" {
		return []string{tree}, nil
	}
	return nil, nil // the client started aibox in no repository
}

// workingTrees returns the absolute paths and URLs of the repositories that --repo names.
func workingTrees(given []string) ([]string, error) {
	var all []string
	for _, name := range given {
		if workspace.IsURL(name) {
			all = append(all, name)
			continue
		}
		folder, err := filepath.Abs(name)
		if err != nil {
			return nil, err
		}
		tree := workspace.WorkingTree(folder)
		if tree == "" {
			return nil, fault.New(fault.Usage, "%s is not in a git repository", name).Hint("--repo PATH names one")
		}
		all = append(all, tree)
	}
	return all, nil
}
