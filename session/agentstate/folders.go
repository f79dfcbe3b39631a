// Package agentstate keeps the folders in which agents store their conversations, one set
// per session. Agents write their content, so it is never opened or followed here.
package agentstate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

// A session keeps the state folders of its agents as
//
//	homes/AGENT/FOLDER
//
// where FOLDER is the path below the agent's home as a single name. Each FOLDER is
// the root of a bind mount, and nothing above one is ever mounted: no agent can
// replace a part of the path that the daemon resolves, neither while it runs nor
// for the mounts of a later session. Each agent has its own folder, so that an
// agent that resumes the work of another one does not get its state.
const rootName = "homes"

// legacyRootName is where earlier versions kept the state folders of all agents in
// one tree, such as home/.codex/sessions. An agent may have put links between the
// parts of those paths.
const legacyRootName = "home"

// Roots returns the folders that hold agent state in the session folder dir. They may not
// exist.
func Roots(dir string) []string {
	return []string{filepath.Join(dir, rootName), filepath.Join(dir, legacyRootName)}
}

// Move moves all state from the session folder from to the session folder to, as a whole.
// It is no error if there is none.
func Move(from, to string) error { return move(from, to, rootName) }

// ReturnLegacy moves state back from the session folder from to the session folder to. An
// earlier version had moved it in the other direction, in a start that failed or was
// killed.
func ReturnLegacy(from, to string) error { return move(from, to, legacyRootName) }

func move(from, to, name string) error {
	err := os.Rename(filepath.Join(from, name), filepath.Join(to, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// maxFolderName bounds the name of a state folder, in bytes; file systems allow 255.
const maxFolderName = 200

// folderName returns the single name under which a state folder ("~/…") is stored.
func folderName(stateDir string) string {
	name := url.PathEscape(strings.TrimPrefix(stateDir, "~/"))
	if len(name) > maxFolderName {
		sum := sha256.Sum256([]byte(name))
		return hex.EncodeToString(sum[:])
	}
	return name
}

// MakeFolder makes a state folder of an agent in the session folder dir if it does not
// exist, and returns the path for its mount. stateDir is its path in the sandbox ("~/…").
func MakeFolder(dir, agent, stateDir string) (string, error) {
	folder, err := openFolders(dir, true, rootName, agent, folderName(stateDir))
	if err != nil {
		return "", fmt.Errorf("making the state folder %q of %s: %w", stateDir, agent, err)
	}
	return filepath.Join(dir, rootName, agent, folderName(stateDir)), folder.Close()
}

// FolderUsed reports whether a state folder has any entry. It reads only the first one.
func FolderUsed(dir, agent, stateDir string) bool {
	pin, err := openFolders(dir, false, rootName, agent, folderName(stateDir))
	if err != nil {
		return false
	}
	defer pin.Close()
	folder, err := os.OpenFile(fdPath(pin), os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return false
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(1)
	return len(names) > 0
}

// openFolders opens (O_PATH) the folder at the path with the elements names below top,
// which is trusted. It does not follow symlinks or wait for pipes. If create is set, it
// makes missing folders.
func openFolders(top string, create bool, names ...string) (*os.File, error) {
	at, err := os.Open(top)
	for _, name := range names {
		if err != nil {
			return nil, err
		}
		parent := at
		at, err = openFolder(parent, name, create)
		_ = parent.Close()
	}
	return at, err
}

// openFolder opens (O_PATH) the folder name in parent. If an agent removed the owner's
// permissions, openFolder restores them.
func openFolder(parent *os.File, name string, create bool) (*os.File, error) {
	if create {
		if err := unix.Mkdirat(int(parent.Fd()), name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, &fs.PathError{Op: "mkdir", Path: name, Err: err}
		}
	}
	fd, err := unix.Openat(int(parent.Fd()), name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	pin := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && int(st.Uid) == os.Getuid() && st.Mode&0o700 != 0o700 {
		if err := os.Chmod(fdPath(pin), 0o700); err != nil {
			return nil, errors.Join(err, pin.Close())
		}
	}
	return pin, nil
}

// fdPath returns a path to an open file that does not depend on its name.
func fdPath(pin *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(pin.Fd())) }

// AdoptLegacy moves the agent's state folders from where an earlier version kept them. It
// refuses a folder whose path contains anything but folders.
func AdoptLegacy(dir, agent string, stateDirs []string) error {
	for _, stateDir := range stateDirs {
		err := adoptLegacyFolder(dir, agent, stateDir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.Refused, "the state folder %q of %s cannot be taken over, because it is not an ordinary folder: %w", stateDir, agent, err).
				Hint("an agent may have put a link there to get out of its sandbox; `aibox accept %s` still delivers the session's work", filepath.Base(dir))
		}
	}
	return nil
}

// adoptLegacyFolder moves one state folder. It returns fs.ErrNotExist if there is none.
func adoptLegacyFolder(dir, agent, stateDir string) error {
	if _, err := os.Lstat(filepath.Join(dir, rootName, agent, folderName(stateDir))); err == nil {
		return nil
	}
	parts := append([]string{legacyRootName}, strings.Split(strings.TrimPrefix(stateDir, "~/"), "/")...)
	last := len(parts) - 1
	from, err := openFolders(dir, false, parts[:last]...)
	if err != nil {
		return err
	}
	defer from.Close()
	folder, err := openFolder(from, parts[last], false)
	if err != nil {
		return err
	}
	defer folder.Close()
	to, err := openFolders(dir, true, rootName, agent)
	if err != nil {
		return err
	}
	defer to.Close()
	return unix.Renameat(int(from.Fd()), parts[last], int(to.Fd()), folderName(stateDir))
}
