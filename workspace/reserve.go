package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/undo"
)

// reservedPrefix is the prefix of an empty folder that no record names yet. The session's
// id follows, so that repair finds it.
const reservedPrefix = ".aibox-new-"

// makeFolder makes the workspace's empty folder under the first of names that is free, and
// notifies the observer. It registers the folder's removal in steps.
func (w *Workspace) makeFolder(dirs paths.Dirs, names []string, observer Observer, steps *undo.Stack) error {
	path, err := reserve(dirs.Workspace, w.Session, names, func(path string, folder Folder) error {
		w.Path, w.Folder = path, folder
		if observer.Record == nil {
			return nil
		}
		return observer.Record(*w)
	})
	if err != nil {
		return err
	}
	steps.Add(func(context.Context) error { return removeTree(path) })
	if observer.Made != nil {
		observer.Made(path)
	}
	return nil
}

// reserve makes an empty folder in parent for a session, under the first of names that is
// free, and returns its path. It calls record with the path before the folder exists, and
// again if another session takes that name meanwhile. Whenever the process is killed, the
// folder is named in its record or can be removed by RemoveReserved.
func reserve(parent, session string, names []string, record func(path string, folder Folder) error) (path string, err error) {
	if err := paths.MakePrivate(parent); err != nil {
		return "", fault.New(fault.Usage, "the folder for workspaces cannot be used: %w", err).
			Hint("move it away: mv %s %s.old", parent, parent)
	}
	reserved := filepath.Join(parent, reservedPrefix+session)
	if err := os.Mkdir(reserved, 0o700); err != nil {
		return "", fmt.Errorf("making the workspace: %w", err)
	}
	defer func() {
		if err != nil {
			_ = unix.Rmdir(reserved)
		}
	}()
	folder, err := identify(reserved)
	if err != nil {
		return "", fmt.Errorf("looking at the new workspace: %w", err)
	}
	for _, name := range names {
		path := filepath.Join(parent, name)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		if err := record(path, folder); err != nil {
			return "", err
		}
		err := renameNew(reserved, path)
		if err == nil {
			return path, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("making the workspace: %w", err)
		}
	}
	return "", fmt.Errorf("the workspaces %s exist already", names)
}

// renameNew renames a folder to a path that must not exist. Where the file system cannot
// check that (FUSE), it makes the path first and then replaces it.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if err != unix.EINVAL && err != unix.ENOSYS {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if err := unix.Rename(from, to); err != nil { // os.Rename replaces no folder
		return errors.Join(err, unix.Rmdir(to))
	}
	return nil
}

// RemoveReserved removes the empty folder of a session that died before its record named
// one. It is no error if there is none.
func RemoveReserved(dirs paths.Dirs, session string) error {
	return ignoreAbsent(unix.Rmdir(filepath.Join(dirs.Workspace, reservedPrefix+session)))
}
