package review

import (
	"context"

	"aibox/workspace"
)

// ApplyToWorktree is applyToWorktree with a look at its steps: at is called at each
// one, and its error is a failure there. It may be nil.
func ApplyToWorktree(ctx context.Context, ws *workspace.Workspace, before, after string, at func(point string) error) ([]Path, error) {
	return applyToWorktree(ctx, worktreeJob{ws: ws, before: before, after: after, at: at})
}
