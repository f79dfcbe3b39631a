package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/userfile"
)

// UserName and RepositoryName are the names of the two files: in aibox's folder of the user's
// configuration, and at the top of a repository.
const (
	UserName       = "config.toml"
	RepositoryName = ".aibox.toml"
)

// maxFile bounds a file of settings, in bytes.
const maxFile = 256 << 10

// ReadUser reads and parses the user's own file, which may be a symlink. It is nil when there is none.
// It refuses a file that other users can write to, since the settings name programs that run on the host.
func ReadUser(file string) (*Document, error) {
	return read(UserFile, file, func() (int, error) {
		return unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	})
}

// ReadRepository reads and parses the file at the top of a repository's working tree. It is
// nil when there is none. An agent may have put anything in its place, so no symlink is
// followed out of the folder.
func ReadRepository(top string) (*Document, error) {
	file := filepath.Join(top, RepositoryName)
	return read(RepositoryFile, file, func() (int, error) {
		dir, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		defer unix.Close(dir)
		return unix.Openat(dir, RepositoryName, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	})
}

func read(kind Kind, name string, open func() (int, error)) (*Document, error) {
	fd, err := open()
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return nil, nil //nolint:nilnil // there is no file, which is no error
	case errors.Is(err, unix.ELOOP):
		return nil, fault.New(fault.Usage, "%s is a symlink; settings of a repository must be a regular file", name).
			Hint("replace it with a regular file, or remove it")
	case errors.Is(err, unix.ENXIO):
		return nil, notAFile(name)
	case err != nil:
		return nil, unreadable(name, err)
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case !info.Mode().IsRegular():
		return nil, notAFile(name)
	}
	if kind == UserFile {
		if err := userfile.CheckSettings(info, name); err != nil {
			return nil, fault.New(fault.Usage, "%s cannot be used: %w", name, err)
		}
	}
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return nil, unreadable(name, err)
	case len(data) > maxFile:
		return nil, fault.New(fault.Usage, "%s is larger than %d KiB, the limit for settings", name, maxFile>>10).
			Hint("remove what does not belong there")
	}
	return Parse(kind, name, data)
}

func notAFile(name string) error {
	return fault.New(fault.Usage, "%s is not a file", name).Hint("remove it, or replace it with a settings file")
}

func unreadable(name string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fault.New(fault.Usage, "%s", fmt.Sprintf("%s cannot be read: %s", name, err)).
		Hint("make it readable, or remove it: aibox never ignores existing settings")
}
