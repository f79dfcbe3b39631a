package cli

import (
	"context"
	"fmt"
	"slices"

	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/session"
)

// acceptPlan is what an accept would do.
type acceptPlan struct {
	selection *review.Selection
	part      *review.ChangeSet    // what is taken, as a change set of its own
	worktree  *review.WorktreePlan // what would become of the user's files; nil for a branch
}

// planAccept finds what a choice means, before anything is written.
func (a *app) planAccept(ctx context.Context, set *review.ChangeSet, choice review.Choice) (*acceptPlan, error) {
	selection, err := set.Select(ctx, choice)
	if err != nil {
		return nil, err
	}
	for _, name := range choice.Risky {
		taken := func(t review.Taken) bool {
			return slices.Contains([]string{t.Path.Raw(), t.Path.String(), t.OldPath.Raw(), t.OldPath.String()}, name)
		}
		if !slices.ContainsFunc(selection.Taken, taken) {
			return nil, fault.New(fault.Usage, "--accept-risky names %s, of which nothing is chosen", termtext.Escape(name)).
				Hint("choose it with --files, too, or leave --files and --hunks out")
		}
	}
	part, err := set.Outline(ctx, selection)
	return &acceptPlan{selection: selection, part: part}, err
}

// plannedAccept is the JSON of `aibox accept --dry-run`.
type plannedAccept struct {
	Target  review.Target    `json:"target"`
	Branch  string           `json:"branch,omitempty"` // as asked for; empty means a name of aibox's
	Repo    string           `json:"repo"`
	Tree    string           `json:"tree"`
	Taken   []review.Taken   `json:"taken"`
	Changes []review.Change  `json:"changes"` // as they would be delivered
	Left    []review.LeftOut `json:"left,omitempty"`

	Worktree *review.WorktreePlan `json:"worktree,omitempty"` // what would become of the user's files
}

// tellPlan prints what would be done.
func (a *app) tellPlan(found session.Session, plan *acceptPlan, o acceptOptions) error {
	repo := found.Repository
	if ws := found.State.Workspace; ws != nil {
		repo = ws.Repo
	}
	if o.json {
		return printJSON(a.out, plannedAccept{
			Target: o.target(), Branch: o.branch, Repo: repo, Tree: plan.part.Tree,
			Taken: plan.selection.Taken, Changes: plan.part.Changes, Left: plan.selection.Left, Worktree: plan.worktree,
		})
	}
	a.tellLeft(found.ID, plan.selection.Left)
	if plan.part.Empty() {
		fmt.Fprintln(a.err, "nothing would be accepted")
		return nil
	}
	where := "on a new branch of"
	switch {
	case o.target() == review.ToWorktree:
		where = "in the working tree of"
	case o.branch != "":
		where = "on branch " + termtext.Escape(o.branch) + " of"
	}
	fmt.Fprintf(a.err, "would be accepted, %s %s:\n", where, termtext.Escape(repo))
	err := plan.part.Stat(a.out, a.term.width)
	a.tellSteps(plan.worktree)
	return err
}
