package cli

import (
	"fmt"

	"aibox/internal/shellquote"
	"aibox/internal/termtext"
	"aibox/review/accept"
	"aibox/workspace"
)

// printBranches prints what belongs to a new branch: the branches of submodules and, for a
// repository that aibox cloned from a URL, how to fetch it.
func (c *console) printBranches(ws *workspace.Workspace, accepted *accept.Result) {
	for _, m := range accepted.Modules {
		fmt.Fprintf(c.err, "%s submodule %s: branch %s in %s, which the commit records\n",
			c.errTerm.good("✓"), m.Path, termtext.Escape(m.Branch), termtext.Escape(m.Repo))
	}
	if accepted.Branch == "" || ws == nil || ws.URL == "" {
		return
	}
	repo, branch := termtext.Escape(shellquote.Join([]string{accepted.Repo})), termtext.Escape(shellquote.Join([]string{accepted.Branch}))
	fmt.Fprintf(c.err, "%s git fetch %s %s:%s  fetches it into your clone\n", c.errTerm.faint("→"), repo, branch, branch)
	fmt.Fprintf(c.err, "%s git -C %s push origin %s  pushes it to %s\n", c.errTerm.faint("→"), repo, branch, termtext.Escape(ws.URL))
}
