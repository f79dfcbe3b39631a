package manager

import (
	"context"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/worktree"
	"aibox/session"
)

// RepairWorktrees undoes interrupted accepts onto users' working trees. Repair calls it,
// too, without reporting the result.
func (s *repairs) RepairWorktrees() ([]worktree.Recovered, error) {
	return worktree.RecoverAll(s.deps.Dirs.Repos())
}

// PlanWorktree returns what AcceptSet would do with choice to the files of the user's
// working tree, and the conflicts that prevent it. It changes nothing. If there is nothing
// to do, it returns review.ErrNothing.
func (s *deliveries) PlanWorktree(ctx context.Context, id session.ID, set *review.ChangeSet, choice review.Choice) (*worktree.Plan, error) {
	var plan *worktree.Plan
	err := s.withDeliverable(ctx, id, set, func(record *session.Session, decisions *Decisions) (err error) {
		plan, err = accept.PlanWorktree(ctx, record.State.Workspace, set, accept.Options{
			Choice: choice, Target: accept.ToWorktree, Prior: decisions.before(accept.ToWorktree),
		})
		return err
	})
	return plan, err
}

// CheckBranch returns the error with which AcceptSet would refuse to deliver the part of
// set that opts choose to a branch, as far as that is known in advance; see
// accept.CheckBranch. It changes nothing.
func (s *deliveries) CheckBranch(ctx context.Context, id session.ID, set *review.ChangeSet, opts accept.Options) error {
	return s.withDeliverable(ctx, id, set, func(record *session.Session, decisions *Decisions) error {
		opts.Prior = decisions.before(opts.Target)
		return accept.CheckBranch(ctx, record.State.Workspace, set, opts)
	})
}
