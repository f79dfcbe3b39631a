package review

import (
	"context"

	"aibox/internal/fault"
	"aibox/workspace"
)

// worktreeJob is one delivery onto the user's working tree.
type worktreeJob struct {
	ws     *workspace.Workspace
	before string // tree in ws.GitDir: the baseline with what was accepted earlier
	after  string // tree in ws.GitDir: before with what is accepted now
}

// applyToWorktree brings what differs between the two trees onto the user's
// working tree, by three-way merge where the user's files differ from before, and
// returns the paths it changed, sorted. It is all or nothing: a conflict, or a file
// that changes meanwhile, is a fault of kind Conflict that lists every path with its
// reason, and nothing has been touched then. The index and HEAD are never touched.
func applyToWorktree(_ context.Context, _ worktreeJob) ([]Path, error) {
	return nil, fault.New(fault.Refused, "work cannot be put onto the working tree yet").
		Hint("take it as a branch: aibox accept ID")
}
