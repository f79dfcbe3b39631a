package printer

import (
	"context"
	"fmt"
	"io"
	"slices"

	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/review"
)

// Patch writes the unified diff in git's format, as git apply accepts it. The bytes are
// raw, as the agent wrote them: only for files and pipes. For a terminal use Show.
func Patch(ctx context.Context, cs *review.ChangeSet, w io.Writer) error {
	return PatchWithContext(ctx, cs, w, DefaultContext)
}

// PatchWithContext is Patch with this number of unchanged lines around each change;
// negative means DefaultContext. git apply accepts a patch without context only with
// --unidiff-zero.
func PatchWithContext(ctx context.Context, cs *review.ChangeSet, w io.Writer, lines int) error {
	if cs.Tree == cs.BaseTree {
		return nil
	}
	args := slices.Concat(review.DiffTree, []string{"-p", "--binary", contextFlag(lines)})
	if movesSymlinkForFolder(cs) {
		args = append(args, "--no-renames")
	}
	err := git.Owned(cs.GitDir).Run(ctx, nil, w, append(args, cs.BaseTree, cs.Tree)...)
	if err != nil {
		return fmt.Errorf("writing the patch: %w", err)
	}
	return nil
}

// movesSymlinkForFolder reports whether a symlink was renamed and a folder took its
// place. As a rename, its mode is not in the patch, so git apply assumes that the symlink
// still exists and refuses the files in the folder ("beyond a symbolic link", seen with
// git 2.39).
func movesSymlinkForFolder(cs *review.ChangeSet) bool {
	moved := map[string]bool{}
	for _, c := range cs.Changes {
		if c.Kind == review.Renamed && c.OldMode == string(git.Symlink) {
			moved[c.OldPath.Raw()] = true
		}
	}
	if len(moved) == 0 {
		return false
	}
	return slices.ContainsFunc(cs.Changes, func(c review.Change) bool {
		return slices.ContainsFunc(slashpath.Parents(c.Path.Raw()), func(dir string) bool { return moved[dir] })
	})
}
