package cli

import (
	"fmt"

	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/review/printer"
	"aibox/review/worktree"
	"aibox/session"
)

// plannedAccept is the JSON of `aibox accept --dry-run`.
type plannedAccept struct {
	Target  accept.Target    `json:"target"`
	Branch  string           `json:"branch,omitempty"` // as given; empty means the default name
	Repo    string           `json:"repo"`
	Tree    string           `json:"tree"`
	Taken   []review.Taken   `json:"taken"`
	Changes []review.Change  `json:"changes"` // as they would be delivered
	Left    []review.LeftOut `json:"left,omitempty"`

	Worktree *worktree.Plan `json:"worktree,omitempty"` // the effect on the user's files
}

// printPlan prints what would be delivered. files describes the effect on the user's
// files; nil for a branch.
func (o *acceptOptions) printPlan(found session.Session, plan *decision.Plan, files *worktree.Plan) error {
	repo := found.Repository
	if ws := found.State.Workspace; ws != nil {
		repo = ws.Repo
	}
	if o.json {
		return printJSON(o.out, plannedAccept{
			Target: o.target(), Branch: o.branch, Repo: repo, Tree: plan.Part.Tree,
			Taken: plan.Selection.Taken, Changes: plan.Part.Changes, Left: plan.Selection.Left, Worktree: files,
		})
	}
	o.printLeftOut(found.ID, plan.Selection.Left)
	if plan.Part.Empty() {
		fmt.Fprintln(o.err, "nothing would be accepted")
		return nil
	}
	where := "on a new branch of"
	switch {
	case o.target() == accept.ToWorktree:
		where = "in the working tree of"
	case o.branch != "":
		where = "on branch " + termtext.Escape(o.branch) + " of"
	}
	fmt.Fprintf(o.err, "would be accepted, %s %s:\n", where, termtext.Escape(repo))
	err := printer.Stat(plan.Part, o.out, o.term.width)
	o.printSteps(files)
	return err
}
