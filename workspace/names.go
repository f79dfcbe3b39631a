package workspace

import (
	"strings"

	"aibox/internal/fault"
	"aibox/internal/termtext"
)

// checkName refuses a path of a tree or an index that git never checks out, such as a/../b
// or .git/config. Git's objects, and an index that was not made by git, can hold any name.
func checkName(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part[0] == '.' && (part == "." || part == ".." || strings.EqualFold(part, ".git")) {
			return fault.New(fault.Usage, "the repository holds the file %s, a name that leads elsewhere and that git never checks out", termtext.Escape(path)).
				Hint("start from a commit that does not have it: --branch COMMIT")
		}
	}
	return nil
}
