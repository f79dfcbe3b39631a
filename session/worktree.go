package session

import (
	"context"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/worktree"
)

// RepairWorktrees takes back what accepts onto users' working trees had done when they
// were killed. Repair does so, too, without reporting what it repaired.
func (s *repairs) RepairWorktrees() ([]worktree.Recovered, error) {
	return worktree.RecoverAll(s.deps.Dirs.Repos())
}

// PlanWorktree says what AcceptSet would do with choice to the files of the user's
// working tree, and which conflicts prevent it. It changes nothing. Nothing to do is
// review.ErrNothing.
func (s *deliveries) PlanWorktree(ctx context.Context, id ID, set *review.ChangeSet, choice review.Choice) (*worktree.Plan, error) {
	var plan *worktree.Plan
	err := s.withEnded(ctx, id, func(session *Session) error {
		if err := session.Deliverable(); err != nil {
			return err
		}
		decisions, err := s.store.Decisions(id)
		if err != nil {
			return err
		}
		if err := checkChangesOf(set, session); err != nil {
			return err
		}
		plan, err = accept.PlanWorktree(ctx, session.State.Workspace, set, accept.Options{
			Choice: choice, Target: accept.ToWorktree, Prior: decisions.before(accept.ToWorktree),
		})
		return err
	})
	return plan, err
}
