package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
)

// removedPrefix is the prefix of folders that are being removed.
const removedPrefix = ".aibox-removed-"

// IsRemoved reports whether name is that of a folder that RemoveFolder has not deleted
// completely.
func IsRemoved(name string) bool { return strings.HasPrefix(name, removedPrefix) }

// Remove deletes the workspace's folder, with anything that the agent put there, and its
// baseline. It never follows a symlink. Call it only when a ref holds the work
// (review.Discard does). It is no error if the workspace is gone already: Remove then deletes
// what an interrupted call has left.
func Remove(ctx context.Context, ws *Workspace) error {
	gone, err := ws.Gone()
	switch {
	case err == nil && gone:
		err = deleteTree(ctx, doomedPath(ws.Path))
	case err == nil:
		err = RemoveFolder(ctx, ws.Path)
	}
	if err != nil {
		return fmt.Errorf("removing the workspace %s: %w", ws.Path, err)
	}
	if err := os.Remove(ws.Baseline); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// RemoveFolder deletes the folder at path with everything in it, including files of other
// users of a sandbox, and never follows a symlink. It renames the folder first, so that a
// crash leaves no folder that looks complete; Leftovers finds the rest. It is no error if
// the folder does not exist.
func RemoveFolder(ctx context.Context, path string) error {
	doomed := doomedPath(path)
	err := os.Rename(path, doomed)
	if errors.Is(err, fs.ErrExist) { // an interrupted removal has left an earlier folder of this name
		doomed = filepath.Join(filepath.Dir(path), removedPrefix+strings.ToLower(rand.Text()))
		err = os.Rename(path, doomed)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		doomed = path // for example, a mount point cannot be renamed
	}
	return deleteTree(ctx, doomed)
}

// doomedPath returns where the folder at path is deleted. The name depends on nothing but the
// folder's, so that a repeated removal finds what an interrupted one has left.
func doomedPath(path string) string {
	sum := sha256.Sum256([]byte(filepath.Base(path)))
	return filepath.Join(filepath.Dir(path), removedPrefix+hex.EncodeToString(sum[:13]))
}

// deleteTree deletes the folder at path, including files of other users of a sandbox.
func deleteTree(ctx context.Context, path string) error {
	err := removeTree(path)
	if errors.Is(err, fs.ErrPermission) {
		if err = reclaim(ctx, path); err == nil {
			err = removeTree(path)
		}
	}
	return err
}

// Undo reverses Prepare for a session whose agent never started: it removes the folder, the
// baseline and the session's refs.
func Undo(ctx context.Context, ws *Workspace) error {
	return errors.Join(Remove(ctx, ws), forget(ctx, ws))
}

// forget removes the session's refs and baseline. The next garbage collection of the store
// removes the objects.
func forget(ctx context.Context, ws *Workspace) error {
	if err := os.Remove(ws.Baseline); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := os.Lstat(filepath.Join(ws.GitDir, "HEAD")); errors.Is(err, fs.ErrNotExist) {
		return nil // without a repository there are no refs
	}
	if err := dropRefLocks(ws.GitDir, ws.Session); err != nil {
		return err
	}
	repo := git.Owned(ws.GitDir)
	out, err := repo.Output(ctx, "for-each-ref", "--format=delete %(refname)", ref(ws.Session, ""))
	if err != nil || len(out) == 0 {
		return err
	}
	return repo.Run(ctx, bytes.NewReader(out), nil, "update-ref", "--no-deref", "--stdin")
}

// dropRefLocks removes the locks of the session's refs that git has left: it does not if it is
// ended while it creates one. No process may be writing these refs.
func dropRefLocks(gitDir, session string) error {
	dir := filepath.Join(gitDir, filepath.FromSlash(ref(session, "")))
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".lock") {
			err = errors.Join(err, os.Remove(filepath.Join(dir, entry.Name())))
		}
	}
	_ = os.Remove(dir) // git does so with the last ref
	return err
}

// removeTree deletes the folder at path with everything in it. It needs neither memory nor
// descriptors for depth: it moves a folder that is not empty up to the top first, so that
// it only ever reads one level. It changes the mode of folders that deny access; they are
// the user's own.
func removeTree(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	r := &remover{root: fd, known: map[string]bool{}}
	for range attempts {
		if err := r.empty("."); err != nil {
			return err
		}
		if err = unix.Rmdir(path); err != unix.ENOTEMPTY {
			return err
		}
	}
	return err
}

type remover struct {
	root  int
	moved int             // names given so far
	left  []string        // folders directly in root that still have to be emptied
	known map[string]bool // the same, for lookups
}

// attempts bounds how often a folder is read again because it is not empty yet: some file
// systems skip entries while others are being deleted.
const attempts = 100

// empty deletes the content of the folder name in root ("." is root itself), and of the
// folders that are moved up meanwhile.
func (r *remover) empty(name string) error {
	if err := r.clear(name); err != nil {
		return err
	}
	for len(r.left) > 0 {
		next := r.left[len(r.left)-1]
		r.left = r.left[:len(r.left)-1]
		delete(r.known, next)
		err := error(unix.ENOTEMPTY)
		for try := 0; errors.Is(err, unix.ENOTEMPTY) && try < attempts; try++ {
			if err := r.clear(next); err != nil {
				return err
			}
			err = unix.Unlinkat(r.root, next, unix.AT_REMOVEDIR)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// clear deletes the entries of one folder, or moves them up.
func (r *remover) clear(name string) error {
	dir, err := openForRemoval(r.root, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(4096)
		for _, entry := range names {
			if err := r.drop(int(dir.Fd()), entry, name == "."); err != nil {
				return err
			}
		}
		if len(names) == 0 || err != nil {
			return nil
		}
	}
}

// drop deletes one entry, or moves it into root if it is a folder that is not empty.
func (r *remover) drop(dir int, entry string, top bool) error {
	err := unix.Unlinkat(dir, entry, 0)
	if err == nil || err == unix.ENOENT {
		return nil
	}
	if err != unix.EISDIR && err != unix.EPERM {
		return err
	}
	if err := unix.Unlinkat(dir, entry, unix.AT_REMOVEDIR); err == nil {
		return nil
	}
	if top {
		r.remember(entry)
		return nil
	}
	// Moving a folder needs write access to it, and room for its name, which deleting its
	// files makes on a full disk.
	sub, openErr := openForRemoval(dir, entry)
	if openErr == nil {
		defer sub.Close()
	}
	for {
		r.moved++
		name := ".aibox-removed-" + strconv.Itoa(r.moved)
		// A rename fails if the name exists, except over an empty folder, which loses nothing
		// here. Not every file system has RENAME_NOREPLACE.
		err := unix.Renameat(dir, entry, r.root, name)
		if err == unix.EEXIST || err == unix.ENOTEMPTY || err == unix.ENOTDIR {
			continue
		}
		if err == unix.ENOSPC && sub != nil && unlinkFiles(sub) > 0 {
			continue
		}
		if err == nil {
			r.remember(name)
		}
		return err
	}
}

// unlinkFiles deletes the files directly in dir and returns how many there were.
func unlinkFiles(dir *os.File) int {
	deleted := 0
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if unix.Unlinkat(int(dir.Fd()), name, 0) == nil {
			deleted++
		}
	}
	return deleted
}

func (r *remover) remember(name string) {
	if !r.known[name] {
		r.known[name] = true
		r.left = append(r.left, name)
	}
}

// openForRemoval opens a folder for reading after giving its owner every right
// to it. It follows no symlink.
func openForRemoval(dir int, name string) (*os.File, error) {
	pin, err := pinWithRights(dir, name, unix.O_DIRECTORY, 0o700)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pin)
	fd, err := unix.Open(procPath(pin), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// pinWithRights gives the owner of a file or folder these rights to it, and returns a descriptor of it that
// the caller closes. flags are more flags to open it. It follows no symlink.
func pinWithRights(dir int, name string, flags uint64, rights uint32) (int, error) {
	pin, err := unix.Openat2(dir, name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC | flags, Resolve: confined | unix.RESOLVE_NO_XDEV,
	})
	if err != nil {
		return -1, err
	}
	if err := giveRights(pin, rights); err != nil {
		unix.Close(pin)
		return -1, err
	}
	return pin, nil
}

// giveRights gives the owner of an open file or folder these rights to it.
func giveRights(fd int, rights uint32) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&rights == rights {
		return err
	}
	return unix.Chmod(procPath(fd), st.Mode&0o7777|rights)
}

func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }
