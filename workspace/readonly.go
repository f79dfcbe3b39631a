package workspace

import (
	"iter"
	"strings"

	"aibox/internal/gitignore"
)

// ReadOnly are the paths that no change set may change: those that match the session's
// patterns, the folders above a file that matches, and every path below such a file. nil is
// none. It is safe for concurrent use.
type ReadOnly struct {
	list  gitignore.List
	files map[string]bool // that match
	above map[string]bool // folders above them
	plain map[string]bool // files that would match only as folders
}

// newReadOnly returns the paths for patterns of .gitignore, and the files that exist; nil
// without patterns.
func newReadOnly(words []string, existing iter.Seq[string]) (*ReadOnly, error) {
	if len(words) == 0 {
		return nil, nil //nolint:nilnil // nil is valid
	}
	r := &ReadOnly{files: map[string]bool{}, above: map[string]bool{}, plain: map[string]bool{}}
	for _, word := range words {
		p, err := gitignore.ParseWord(word)
		if err != nil {
			return nil, err
		}
		r.list.Add(p)
	}
	for path := range existing {
		if !r.list.Match(path, false) {
			if r.list.Match(path, true) {
				r.plain[path] = true
			}
			continue
		}
		r.files[path] = true
		for dir := folderOf(path); dir != "." && !r.above[dir]; dir = folderOf(dir) {
			r.above[dir] = true
		}
	}
	return r, nil
}

// ReadOnly returns the paths that the patterns select, given the files of the baseline.
func (b *Baseline) ReadOnly(patterns []string) (*ReadOnly, error) {
	return newReadOnly(patterns, func(yield func(string) bool) {
		for i := range b.Files {
			if !yield(b.Files[i].Path) {
				return
			}
		}
	})
}

// Has reports whether a change of the file at path would change a read-only one, or put
// another file in the place of one.
func (r *ReadOnly) Has(path string) bool {
	if r == nil {
		return false
	}
	// A new link can be in the place of a folder that does not exist yet.
	if r.above[path] || r.list.Match(path, false) || !r.plain[path] && r.list.Match(path, true) {
		return true
	}
	for dir := folderOf(path); dir != "."; dir = folderOf(dir) {
		if r.files[dir] {
			return true
		}
	}
	return false
}

// covers reports whether a file, or a folder with all that is in it, is in such a place. The
// workspace's repository is not, whatever the patterns are.
func (r *ReadOnly) covers(path string, isFolder bool) bool {
	switch {
	case r == nil, path == ".git", strings.HasPrefix(path, ".git/"):
		return false
	case !isFolder:
		return r.Has(path)
	}
	return r.files[path] || r.list.Match(path, true)
}
