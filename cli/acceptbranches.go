package cli

import (
	"fmt"

	"aibox/internal/shellquote"
	"aibox/internal/termtext"
	"aibox/review/accept"
	"aibox/review/branch"
	"aibox/workspace"
)

// printBranches prints what belongs to a new branch: the branches of submodules and, for a
// repository that aibox cloned from a URL, how to fetch it.
func (c *console) printBranches(ws *workspace.Workspace, accepted *accept.Result) {
	for _, m := range accepted.Modules {
		fmt.Fprintf(c.err, "%s submodule %s: branch %s in %s, which the commit records\n",
			c.errTerm.good("✓"), m.Path, termtext.Escape(m.Branch), termtext.Escape(m.Repo))
		c.printPush(ws, m)
	}
	if accepted.Branch == "" || ws == nil || ws.URL == "" {
		return
	}
	repo, name := termtext.Escape(shellquote.Join([]string{accepted.Repo})), termtext.Escape(shellquote.Join([]string{accepted.Branch}))
	fmt.Fprintf(c.err, "%s git fetch %s %s:%s  fetches it into your clone\n", c.errTerm.faint("→"), repo, name, name)
	fmt.Fprintf(c.err, "%s git -C %s push origin %s  pushes it to %s\n", c.errTerm.faint("→"), repo, name, termtext.Escape(ws.URL))
}

// printPush prints how to send the branch of a submodule that aibox cloned from a URL to its
// server.
func (c *console) printPush(ws *workspace.Workspace, delivered branch.Module) {
	if ws == nil {
		return
	}
	for _, m := range ws.Modules {
		if m.Path == delivered.Path.Raw() && m.URL != "" {
			repo, name := termtext.Escape(shellquote.Join([]string{delivered.Repo})), termtext.Escape(shellquote.Join([]string{delivered.Branch}))
			fmt.Fprintf(c.err, "%s git -C %s push origin %s  pushes it to %s\n", c.errTerm.faint("→"), repo, name, termtext.Escape(m.URL))
		}
	}
}
