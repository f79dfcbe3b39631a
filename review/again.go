package review

import "context"

// after is the tree of what was taken before with what is chosen now.
func (cs *ChangeSet) after(ctx context.Context, before *Before, chosen *Selection) (string, error) {
	return cs.TreeOf(ctx, before.Selection.Union(chosen))
}
