package session

import "aibox/review"

// MendWorktrees takes back what accepts onto users' working trees had done when they
// were killed. Repair does so, too, without telling what it mended.
func (s *Sessions) MendWorktrees() ([]review.Mended, error) {
	return review.MendWorktrees(s.deps.Dirs.Repos())
}
