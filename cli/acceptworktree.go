package cli

import (
	"fmt"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review/accept"
	"aibox/review/worktree"
	"aibox/session/manager"
)

// printPlaced reports the files that were merged into the working tree.
func (c *console) printPlaced(accepted *accept.Result) {
	fmt.Fprintf(c.err, "%s %s in your working tree %s\n", c.errTerm.good("✓"), amount.Of(len(accepted.Paths), "file"), termtext.Escape(accepted.Repo))
}

// printSteps lists the files of a plan that would be merged, that already match, or that
// conflict. plan may be nil.
func (c *console) printSteps(plan *worktree.Plan) {
	if plan == nil {
		return
	}
	for _, step := range plan.Steps {
		switch step.Action {
		case worktree.ActionMerge:
			fmt.Fprintf(c.err, "  %s: would be merged with your changes\n", step.Path)
		case worktree.ActionKeep:
			fmt.Fprintf(c.err, "  %s: already matches\n", step.Path)
		case worktree.ActionConflict:
			fmt.Fprintf(c.err, "%s %s: %s\n", c.errTerm.warn("!"), step.Path, step.Reason)
		default:
		}
	}
	if conflicts := len(plan.Conflicts()); conflicts > 0 {
		fmt.Fprintf(c.err, "%s %s, so nothing would change\n", c.errTerm.warn("!"), amount.Of(conflicts, "conflicting file"))
	}
}

// repairWorktrees undoes an accept onto a working tree that was killed, and reports it.
func (c *console) repairWorktrees(service *manager.Manager) {
	repaired, err := service.RepairWorktrees()
	for _, m := range repaired {
		done := "rolled back"
		switch {
		case m.Placed:
			done = "complete and cleaned up"
		case len(m.Left) > 0:
			done = "rolled back, except for these files:"
		}
		fmt.Fprintf(c.err, "%s an accept of %s onto %s was interrupted; it is %s\n",
			c.errTerm.warn("!"), termtext.Escape(m.Session), termtext.Escape(m.Repo), done)
		for _, path := range m.Left {
			fmt.Fprintf(c.err, "  not restored, because it changed since: %s\n", path)
		}
		if len(m.Left) > 0 {
			fmt.Fprintf(c.err, "  their earlier content: aibox recover %s --ref %s\n", termtext.Escape(m.Session), termtext.Escape(m.Ref))
		}
	}
	if err != nil {
		fmt.Fprintf(c.err, "%s %s\n", c.errTerm.warn("!"), safe(err.Error()))
	}
}
