package worktree

import (
	"context"

	"aibox/review"
	"aibox/workspace"
)

// ApplyToWorktree is applyToWorktree with a hook: at is called at each step, and its error
// makes the step fail. It may be nil.
func ApplyToWorktree(ctx context.Context, ws *workspace.Workspace, before, after string, at func(point string) error) ([]review.Path, error) {
	return Apply(ctx, Job{Workspace: ws, Before: before, After: after, hook: at})
}
