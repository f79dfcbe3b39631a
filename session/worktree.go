package session

import (
	"context"

	"aibox/review"
)

// MendWorktrees takes back what accepts onto users' working trees had done when they
// were killed. Repair does so, too, without telling what it mended.
func (s *Sessions) MendWorktrees() ([]review.Mended, error) {
	return review.MendWorktrees(s.deps.Dirs.Repos())
}

// PlanWorktree says what AcceptSet would do with choice to the files of the user's
// working tree, and what stands in its way. It changes nothing. Nothing to do is
// review.ErrNothing.
func (s *Sessions) PlanWorktree(ctx context.Context, id ID, set *review.ChangeSet, choice review.Choice) (*review.WorktreePlan, error) {
	var plan *review.WorktreePlan
	err := s.withEnded(ctx, id, func(session *Session) error {
		if err := session.Deliverable(); err != nil {
			return err
		}
		decisions, err := s.store.decisions(id)
		if err != nil {
			return err
		}
		if err := ofSession(set, session); err != nil {
			return err
		}
		plan, err = review.PlanAccept(ctx, session.State.Workspace, set, review.AcceptOptions{
			Choice: choice, Target: review.ToWorktree, Before: decisions.before(review.ToWorktree),
		})
		return err
	})
	return plan, err
}
