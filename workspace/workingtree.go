package workspace

import (
	"os"
	"path/filepath"
)

// WorkingTree returns the top of the working tree that holds path, with symlinks
// resolved, or "" for none. As for git, a folder .git without a HEAD is no repository.
func WorkingTree(path string) string {
	if path == "" {
		return ""
	}
	absolute, err := filepath.Abs(path)
	if err == nil {
		absolute, err = filepath.EvalSymlinks(absolute)
	}
	for dir := absolute; err == nil; dir = filepath.Dir(dir) {
		info, missing := os.Lstat(filepath.Join(dir, ".git"))
		if missing == nil && info.IsDir() {
			_, missing = os.Lstat(filepath.Join(dir, ".git", "HEAD"))
		}
		if missing == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}
