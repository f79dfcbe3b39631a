package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/paths"
)

// Leftover is a file or folder of an operation that was interrupted.
type Leftover struct {
	Path string
	// Unknown marks a folder that is not empty and belongs to no session. It may hold
	// work, so it must not be removed without asking.
	Unknown bool
}

// Remove deletes the leftover. It keeps a folder that is no longer empty.
func (l Leftover) Remove(ctx context.Context) error {
	name := filepath.Base(l.Path)
	switch {
	case l.Unknown:
		return fmt.Errorf("the contents of %s are unknown", l.Path)
	case !isFolder(l.Path):
		return ignoreAbsent(os.Remove(l.Path))
	case strings.HasPrefix(name, "."):
		return RemoveFolder(ctx, l.Path)
	default:
		return ignoreAbsent(unix.Rmdir(l.Path))
	}
}

// Leftovers lists what interrupted calls of Prepare, Rebuild, Remove and clones have left.
// It leaves out those that have changed within age, since they may be in use. refers
// reports whether a session has its workspace at a path.
func Leftovers(dirs paths.Dirs, age time.Duration, refers func(path string) bool) ([]Leftover, error) {
	var found []Leftover
	workspaces, err := entries(dirs.Workspace)
	if err != nil {
		return nil, err
	}
	for _, path := range workspaces {
		name := filepath.Base(path)
		switch {
		case refers(path) || !Unchanged(path, age):
		case strings.HasPrefix(name, removedPrefix) || strings.HasPrefix(name, restoringPrefix) || (strings.HasPrefix(name, reservedPrefix) || !strings.HasPrefix(name, ".")) && isEmptyFolder(path):
			found = append(found, Leftover{Path: path})
		case isFolder(path):
			found = append(found, Leftover{Path: path, Unknown: true})
		}
	}
	repos, err := entries(dirs.Repos())
	if err != nil {
		return nil, err
	}
	for _, path := range repos {
		name := filepath.Base(path)
		unfinished := strings.HasPrefix(name, removedPrefix) || strings.HasPrefix(name, ".clone-")
		if unfinished && Unchanged(path, 24*age) { // a clone may take long
			found = append(found, Leftover{Path: path})
			continue
		}
		scratch, _ := filepath.Glob(filepath.Join(path, "aibox", ".*"))
		for _, file := range scratch {
			if Unchanged(file, 24*age) {
				found = append(found, Leftover{Path: file})
			}
		}
	}
	return found, nil
}

// entries returns the paths directly in dir; none if dir does not exist.
func entries(dir string) ([]string, error) {
	all, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	found := make([]string, 0, len(all))
	for _, entry := range all {
		found = append(found, filepath.Join(dir, entry.Name()))
	}
	return found, err
}

// Removed returns the names of the folders in dir that RemoveFolder has not deleted
// completely. A folder that cannot be read has none.
func Removed(dir string) (names []string) {
	all, _ := entries(dir)
	for _, path := range all {
		if name := filepath.Base(path); IsRemoved(name) {
			names = append(names, name)
		}
	}
	return names
}

// Unchanged reports whether the file or folder at path has not changed for age.
func Unchanged(path string, age time.Duration) bool {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return false
	}
	return time.Since(time.Unix(st.Mtim.Unix())) > age && time.Since(time.Unix(st.Ctim.Unix())) > age
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// isEmptyFolder reports whether path is an empty folder.
func isEmptyFolder(path string) bool {
	if !isFolder(path) {
		return false
	}
	dir, err := os.Open(path)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, err := dir.Readdirnames(1)
	return len(names) == 0 && err != nil // io.EOF
}
