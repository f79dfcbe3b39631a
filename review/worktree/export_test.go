package worktree

import (
	"context"

	"aibox/review"
	"aibox/workspace"
)

// ApplyToWorktree is applyToWorktree with a look at its steps: at is called at each
// one, and its error is a failure there. It may be nil.
func ApplyToWorktree(ctx context.Context, ws *workspace.Workspace, before, after string, at func(point string) error) ([]review.Path, error) {
	return Apply(ctx, Job{Workspace: ws, Before: before, After: after, hook: at})
}
