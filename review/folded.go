package review

import (
	"context"
	"strings"

	"aibox/internal/git"
)

// folds returns the folded changes by path; nil when there are none.
func (cs *ChangeSet) folds() map[Path]*Change {
	if cs.Listed == "" {
		return nil
	}
	folds := map[Path]*Change{}
	for i := range cs.Changes {
		if c := &cs.Changes[i]; c.Kind == Folded {
			folds[c.Path] = c
		}
	}
	return folds
}

// foldOf returns the folded change that represents an unlisted path.
func foldOf(folds map[Path]*Change, path string) *Change {
	for i := range len(path) {
		if path[i] == '/' {
			if c := folds[Path(path[:i+1])]; c != nil {
				return c
			}
		}
	}
	return folds[everythingElse]
}

// EachFolded visits the folded files in the order of their paths, each with the change that
// represents it.
func (cs *ChangeSet) EachFolded(ctx context.Context, repo *git.Repo, visit func(fold *Change, d git.Difference) error) error {
	folds := cs.folds()
	if len(folds) == 0 {
		return nil
	}
	for d, err := range git.Differences(ctx, repo, cs.Listed, cs.Tree) {
		if err != nil {
			return err
		}
		if c := foldOf(folds, d.Path); c != nil {
			if err := visit(c, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// KindOf returns the kind of a difference.
func KindOf(d git.Difference) Kind {
	switch {
	case d.Old.Path == "":
		return Added
	case d.Now.Path == "":
		return Deleted
	case (d.Old.Mode == git.Symlink) != (d.Now.Mode == git.Symlink):
		return TypeChanged
	}
	return Modified
}

// isFold reports whether a path is that of a folded folder.
func isFold(path Path) bool { return strings.HasSuffix(path.Raw(), "/") }
