package review

import "context"

// TreeOf applies a selection to the baseline and returns the tree, stored in GitDir. The
// result does not depend on the order of the selection. A selection from which no valid
// tree can be built, or that was made from other changes, is a Conflict.
func (cs *ChangeSet) TreeOf(ctx context.Context, s *Selection) (string, error) {
	tree, _, err := cs.treesOf(ctx, s)
	return tree, err
}

// treesOf returns the tree of TreeOf and the same tree without folded files, which is
// empty when nothing is folded.
func (cs *ChangeSet) treesOf(ctx context.Context, s *Selection) (tree, listed string, err error) {
	switch {
	case s.Empty():
		return cs.BaseTree, "", nil
	case s.Complete(cs):
		return cs.Tree, cs.Listed, nil
	}
	edit, err := newTreeEdit(ctx, cs, s)
	if err != nil {
		return "", "", err
	}
	return edit.write(ctx)
}
