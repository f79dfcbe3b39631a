package workspace

import (
	"path"
	"strings"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/gitname"
	"aibox/internal/termtext"
)

// checkEntry refuses an entry of a tree or an index that git never checks out, such as
// a/../b or .git/config. Git's objects, and an index that was not made by git, can hold any
// name. It also refuses what git checks out only on some file systems, since git would refuse
// work on top of it later.
func checkEntry(e git.Entry) error {
	shown := termtext.Escape(e.Path)
	const hint = "start from a commit that does not have it: --branch COMMIT"
	for part := range strings.SplitSeq(e.Path, "/") {
		if part == "" || part == "." || part == ".." {
			return fault.New(fault.Usage, "the repository holds the file %s, a name that leads elsewhere and that git never checks out", shown).Hint(hint)
		}
	}
	if likeDotGit(e.Path) {
		return fault.New(fault.Usage, "the repository holds the file %s, a name that git, or some file system, takes for .git", shown).Hint(hint)
	}
	if e.Mode == git.Symlink && gitname.IsDotGitmodules(path.Base(e.Path)) {
		return fault.New(fault.Usage, "the repository holds the symlink %s, which git never checks out under this name", shown).Hint(hint)
	}
	return nil
}

// likeDotGit reports whether a part of the path could be taken for .git.
func likeDotGit(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if gitname.IsDotGit(part) {
			return true
		}
	}
	return false
}
