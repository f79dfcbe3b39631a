package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/sorting"
	"aibox/review"
)

// put is a file or symlink to write.
type put struct {
	path string
	mode git.Mode
	blob string
	perm uint32 // of a file that replaces another; 0 means as the umask has it
	was  *stamp // the file that it replaces; nil means that the path must be free
	over bool   // there is a folder, which the delivery empties first
}

// removal is a file or symlink of the user to remove.
type removal struct {
	path string
	was  stamp
}

// emptied is a folder that is removed if the delivery leaves it empty.
type emptied struct {
	Path review.Path `json:"path"`
	Mode uint32      `json:"mode"`
}

// plan plans each path. Only a failed read is an error; an obstacle is a step.
func (p *transaction) plan(ctx context.Context) error {
	changes, err := p.changes(ctx)
	if err != nil {
		return err
	}
	var paths []string
	gone, added := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		paths = append(paths, c.Path.Raw())
		switch c.Kind {
		case review.Deleted:
			gone[c.Path.Raw()] = true
		case review.Renamed:
			paths = append(paths, c.OldPath.Raw())
			gone[c.OldPath.Raw()] = true
		}
		if c.Kind == review.Added || c.Kind == review.Renamed {
			added[c.Path.Raw()] = true
		}
	}
	if err := p.user.ReadAttributes(ctx, paths); err != nil {
		return err
	}
	d := &planner{transaction: p, gone: gone, added: added, made: map[string]bool{}, cleared: map[string]bool{}, kept: map[uint64]int{}}
	for _, c := range changes {
		step := Step{Path: c.Path, From: c.OldPath}
		d.conflicts, d.filtered = nil, false
		step.Action, err = d.decide(ctx, c)
		if why, ok := errors.AsType[reason](err); ok {
			step.Action, step.Reason, step.Lines, step.Kept = ActionConflict, string(why), d.conflicts, d.filtered
		} else if err != nil {
			return err
		}
		p.steps = append(p.steps, step)
	}
	d.rejectAliases()
	sorting.Func(p.steps, func(a, b *Step) int { return strings.Compare(a.Path.Raw(), b.Path.Raw()) })
	if p.merged != nil {
		err := p.merged.End(nil)
		if p.merged = nil; err != nil {
			return p.storeError("keeping what was merged", err)
		}
	}
	return d.listEmptied()
}

// changes returns the differences between the two trees.
func (p *transaction) changes(ctx context.Context) ([]review.Change, error) {
	changes, err := review.DiffTrees(ctx, p.repo, p.job.Before, p.job.After)
	switch {
	case errors.Is(err, review.ErrTooMany):
		return nil, fault.New(fault.Refused, "more than %d files cannot go to the working tree at once", 2*review.MaxListed).
			Hint("accept to a branch, and merge that: aibox accept %s", p.job.Workspace.Session)
	case err != nil:
		return nil, fmt.Errorf("comparing with what you have: %s", git.Message(err))
	}
	return changes, nil
}
