// Package paths defines aibox's folders (XDG base directories) and creates those with state:
// private, owned by the user, never a symlink.
package paths

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"aibox/internal/fault"
)

// Dirs are aibox's folders, all absolute.
type Dirs struct {
	Home      string // the user's home directory
	Config    string // $XDG_CONFIG_HOME/aibox: config.toml
	State     string // $XDG_STATE_HOME/aibox: sessions/<id>/
	Data      string // $XDG_DATA_HOME/aibox: repos/
	Cache     string // $XDG_CACHE_HOME/aibox: files that can be regenerated
	Runtime   string // in RuntimeDir: locks that need not survive a reboot; below State if the user has none
	Workspace string // ~/agent_workspace: one folder for each repository
}

// Default reads the folders from the environment. An XDG variable that is not absolute is
// ignored, as the XDG specification requires.
func Default() (Dirs, error) {
	home := homeFolder()
	if !filepath.IsAbs(home) {
		return Dirs{}, fault.New(fault.Environment, "HOME is not set to an absolute path").Hint("aibox keeps its files below your home folder")
	}
	xdg := func(name, fallback string) string {
		if dir := os.Getenv(name); filepath.IsAbs(dir) {
			return filepath.Join(dir, "aibox")
		}
		return filepath.Join(home, fallback, "aibox")
	}
	dirs := Dirs{
		Home:      home,
		Config:    xdg("XDG_CONFIG_HOME", ".config"),
		State:     xdg("XDG_STATE_HOME", ".local/state"),
		Data:      xdg("XDG_DATA_HOME", ".local/share"),
		Cache:     xdg("XDG_CACHE_HOME", ".cache"),
		Workspace: filepath.Join(home, "agent_workspace"),
	}
	dirs.Runtime = filepath.Join(dirs.State, "runtime")
	if dir := RuntimeDir(); dir == os.Getenv("XDG_RUNTIME_DIR") || isOwn(dir) {
		dirs.Runtime = filepath.Join(dir, "aibox")
	}
	return dirs, nil
}

// runtimeDirs has the folder of each user whose systemd runs.
var runtimeDirs = "/run/user"

// RuntimeDir returns the folder of the user's sockets, among them those of Docker and systemd: $XDG_RUNTIME_DIR, or
// else /run/user/UID, which need not exist. All of a user's processes must find the same one, and some start without
// the variable, or, like those of su, with another user's. The system removes /run/user/UID while a user is neither logged in nor lingers:
// then a process without the variable has its files below the state folder. The clients of the API follow the same rule.
func RuntimeDir() string {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && !Foreign(dir) {
		return dir
	}
	return filepath.Join(runtimeDirs, strconv.Itoa(os.Getuid()))
}

// isOwn reports whether dir is a folder of the user.
func isOwn(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && info.IsDir() && !Foreign(dir)
}

// homeFolder returns $HOME. Services of the system start without the variable, so without it,
// homeFolder returns the folder that /etc/passwd names, or "" if it has no such user.
func homeFolder() string {
	if home, ok := os.LookupEnv("HOME"); ok {
		return home
	}
	account, err := user.LookupId(strconv.Itoa(os.Getuid()))
	if err != nil {
		return ""
	}
	return account.HomeDir
}

// Sessions returns the folder that holds one folder per session.
func (d Dirs) Sessions() string { return filepath.Join(d.State, "sessions") }

// Leases returns the folder of the locks on the bridges of the network pool. It does
// not depend on HOME, since all of a user's sessions share one daemon.
func (d Dirs) Leases() string { return filepath.Join(d.Runtime, "networks") }

// Repos returns the folder of the repositories that aibox owns.
func (d Dirs) Repos() string { return filepath.Join(d.Data, "repos") }

// MakePrivate creates dir and its parents with mode 0700. It rejects a symlink, a file, or
// another user's folder, and restricts the mode of an existing folder to 0700.
func MakePrivate(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		failed, ok := errors.AsType[*fs.PathError](err)
		if ok && errors.Is(err, fs.ErrPermission) {
			return fault.New(fault.Environment, "%w", err).Hint("`ls -ld %s` shows who can write there", filepath.Dir(failed.Path))
		}
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 || !info.IsDir() {
		return fmt.Errorf("%q is not a directory of its own (it is a symlink or a file)", dir)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%q belongs to another user", dir)
	}
	if info.Mode().Perm() != 0o700 {
		return os.Chmod(dir, 0o700)
	}
	return nil
}

// Foreign reports whether dir exists and belongs to another user. That is how root finds a user's
// folders under a sudo that keeps HOME; what root writes there, the user cannot read.
func Foreign(dir string) bool {
	info, err := os.Stat(dir)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) != os.Getuid()
}

// ReadSmall reads a file that WriteFile has written. Another kind of file, such as a link or
// a pipe, or a file of more than most bytes is an error.
func ReadSmall(file string, most int64) ([]byte, error) {
	in, err := os.OpenFile(file, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	info, err := in.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", file)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has more than %d bytes", file, most)
	}
	return io.ReadAll(io.LimitReader(in, most))
}

// WriteFile replaces file with data atomically, even for a power cut: it writes and syncs a
// temporary file, renames it, and syncs the folder. The mode is 0600.
func WriteFile(file string, data []byte) error {
	return WriteBy(file, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteBy is like WriteFile, but write writes the content in pieces. After an error of
// write the file is unchanged.
func WriteBy(file string, write func(io.Writer) error) error {
	dir := filepath.Dir(file)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	out := bufio.NewWriterSize(tmp, 64<<10)
	err = errors.Join(write(out), out.Flush(), tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
