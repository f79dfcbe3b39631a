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

// Leftover is a folder or file that something broken off has left behind.
type Leftover struct {
	Path string
	// Unknown says that it is a folder with something in it that no session refers
	// to: it may hold work, and is not to be removed unasked.
	Unknown bool
}

// Remove removes it. A folder that was empty when it was found goes only if it still
// is.
func (l Leftover) Remove(ctx context.Context) error {
	name := filepath.Base(l.Path)
	switch {
	case l.Unknown:
		return fmt.Errorf("what is in %s is not known", l.Path)
	case !isFolder(l.Path):
		return ignoreAbsent(os.Remove(l.Path))
	case strings.HasPrefix(name, "."):
		return RemoveFolder(ctx, l.Path)
	default:
		return ignoreAbsent(unix.Rmdir(l.Path))
	}
}

// Leftovers lists what Prepare, Rebuild, Remove and a clone have left where they
// were broken off, if nothing has happened to it for age: nothing that anybody uses.
// refers reports whether a session has its workspace at a path.
func Leftovers(dirs paths.Dirs, age time.Duration, refers func(path string) bool) ([]Leftover, error) {
	var found []Leftover
	workspaces, err := entries(dirs.Workspace)
	if err != nil {
		return nil, err
	}
	for _, path := range workspaces {
		name := filepath.Base(path)
		switch {
		case refers(path) || !Still(path, age):
		case strings.HasPrefix(name, removedPrefix) || strings.HasPrefix(name, restoringPrefix) || !strings.HasPrefix(name, ".") && vacant(path):
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
		if unfinished && Still(path, 24*age) { // a clone may take long
			found = append(found, Leftover{Path: path})
			continue
		}
		scratch, _ := filepath.Glob(filepath.Join(path, "aibox", ".*"))
		for _, file := range scratch {
			if Still(file, 24*age) {
				found = append(found, Leftover{Path: file})
			}
		}
	}
	return found, nil
}

// entries are the paths directly in dir; none where there is no dir.
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

// Still reports that nothing has happened to what is at path for so long.
func Still(path string, age time.Duration) bool {
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

// vacant reports whether path is an empty folder.
func vacant(path string) bool {
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
