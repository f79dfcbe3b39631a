package branch

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"aibox/internal/git"
)

// branchesInUse are the files of a worktree's git directory that name branches which a rebase or a
// bisection goes back to or moves. HEAD is detached meanwhile, so that git says of no worktree that it
// has them checked out, but refuses to check them out in another (worktree.c).
var branchesInUse = []string{"rebase-merge/head-name", "rebase-apply/head-name", "rebase-merge/update-refs", "BISECT_START"}

// inUse reports whether a branch is rebased or bisected in a worktree of the repository.
func inUse(ctx context.Context, repo *git.Repo, branch string) (bool, error) {
	common, err := repo.Line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return false, err
	}
	others, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	dirs := []string{common}
	for _, other := range others {
		dirs = append(dirs, filepath.Join(common, "worktrees", other.Name()))
	}
	for _, dir := range dirs {
		for _, name := range branchesInUse {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return false, err
			}
			if slices.ContainsFunc(strings.Split(string(text), "\n"), func(line string) bool {
				return strings.TrimPrefix(strings.TrimSpace(line), "refs/heads/") == branch
			}) {
				return true, nil
			}
		}
	}
	return false, nil
}
