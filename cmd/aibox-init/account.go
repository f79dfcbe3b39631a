package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/lifeline"
)

// accountID is the uid and gid of a user that init adds. It is the same in all sandboxes, so
// that files of volumes belong to it.
const accountID = 1000

// setUpAccount adds the user of an idle sandbox, makes its folders, and removes its access
// to everything else that is restricted. root is the sandbox's root folder. It returns the
// user; nil for root.
func setUpAccount(root string, account *lifeline.Account) (*identity, error) {
	if account == nil {
		return nil, nil //nolint:nilnil // root needs nothing
	}
	user, err := findAccount(root, account.Name)
	if err != nil {
		return nil, err
	}
	if account.Confine {
		if err := os.MkdirAll(filepath.Join(root, user.home), 0o755); err != nil {
			return nil, err
		}
		if err := confine(root, user, account.Folders); err != nil {
			return nil, fmt.Errorf("taking away write access: %w", err)
		}
	} else if err := makeOwned(root, user.home, user); err != nil {
		return nil, err
	}
	for _, folder := range account.Folders {
		if err := makeOwned(root, folder, user); err != nil {
			return nil, err
		}
	}
	for _, pattern := range account.Hidden {
		if err := hide(root, pattern); err != nil {
			return nil, fmt.Errorf("hiding %q: %w", pattern, err)
		}
	}
	return user, nil
}

// findAccount returns a user of the image, or adds it.
func findAccount(root, name string) (*identity, error) {
	entries, err := userEntries(root, "etc/passwd", 7)
	if err != nil {
		return nil, err
	}
	for _, fields := range entries {
		if fields[0] == name {
			user, err := lookUpUser(root, name)
			if err == nil && user.home == "" {
				user.home = "/home/" + name
			}
			return user, err
		}
	}
	// Programs show the name in the first line of an ID.
	if err := prependLine(root, "etc/passwd", fmt.Sprintf("%s:x:%d:%d::/home/%s:/bin/sh\n", name, accountID, accountID, name)); err != nil {
		return nil, err
	}
	if err := prependLine(root, "etc/group", fmt.Sprintf("%s:x:%d:\n", name, accountID)); err != nil {
		return nil, err
	}
	return &identity{uid: accountID, gid: accountID, home: "/home/" + name}, nil
}

// prependLine adds a line at the beginning of a file of the image, which is small.
func prependLine(root, name, line string) error {
	path := filepath.Join(root, name)
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append([]byte(line), data...), 0o644)
}

// makeOwned makes a folder if it does not exist, and gives it to a user. Nothing else runs in
// the sandbox, so the path cannot change meanwhile. But it can lead through a volume, in which an
// earlier sandbox may have left a link to a folder of the system.
func makeOwned(root, folder string, user *identity) error {
	path := root
	for name := range strings.SplitSeq(strings.Trim(folder, "/"), "/") {
		path = filepath.Join(path, name)
		if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%q cannot be given to a user, because the path has a symlink", folder)
		}
	}
	if err := os.MkdirAll(path, 0o755); err != nil {
		return err
	}
	return os.Lchown(path, int(user.uid), int(user.gid))
}

// confine removes a user's write access to everything in the root file system except folders
// and /tmp: files of the user are given to root, and files that all users can write lose that
// permission.
func confine(root string, user *identity, folders []string) error {
	allowed := map[string]bool{filepath.Join(root, "tmp"): true}
	for _, folder := range folders {
		allowed[filepath.Join(root, folder)] = true
	}
	skipped := map[string]bool{filepath.Join(root, "proc"): true, filepath.Join(root, "sys"): true}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if (allowed[path] || skipped[path]) && entry.IsDir() {
			return fs.SkipDir // which for a link would end the folder above
		}
		if entry.Type()&(fs.ModeSymlink|fs.ModeDevice) != 0 {
			return nil
		}
		var stat unix.Stat_t
		if err := unix.Lstat(path, &stat); err != nil {
			return err
		}
		if !user.canWrite(&stat) {
			return nil
		}
		if err := os.Chown(path, 0, 0); errors.Is(err, unix.EROFS) {
			return nil // in a read-only volume, where nobody can write
		} else if err != nil {
			return err
		}
		return unix.Chmod(path, stat.Mode&0o1777&^0o022)
	})
}

// canWrite reports whether a user may write to a file, or could give itself that permission.
func (id *identity) canWrite(stat *unix.Stat_t) bool {
	if stat.Uid == id.uid || stat.Mode&0o002 != 0 {
		return true
	}
	inGroup := stat.Gid == id.gid
	for _, group := range id.groups {
		inGroup = inGroup || stat.Gid == group
	}
	return inGroup && stat.Mode&0o020 != 0
}

// hide makes files that match a pattern accessible only to root.
func hide(root, pattern string) error {
	found, err := filepath.Glob(filepath.Join(strings.TrimSuffix(root, "/"), pattern))
	if err != nil {
		return err
	}
	for _, path := range found {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink != 0 {
			continue // the target of a link matches, or is not hidden
		}
		if err := os.Chown(path, 0, 0); err != nil {
			return err
		}
		if err := os.Chmod(path, map[bool]os.FileMode{true: 0o700, false: 0o600}[info.IsDir()]); err != nil {
			return err
		}
	}
	return nil
}
