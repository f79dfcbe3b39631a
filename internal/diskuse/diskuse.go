// Package diskuse measures the disk use of folders while a hostile program writes to them.
// It follows no link, opens no file, stays on one file system and uses few descriptors and
// little memory. It never decides how much is too much.
package diskuse

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"aibox/internal/beneath"
)

// Usage is the result of a measurement.
type Usage struct {
	Bytes   int64 // on the disk: holes in files do not count, folders do
	Entries int   // names; hard links count separately
}

// Limits stop a measurement when one of them is exceeded. Entries also limits its time and
// memory.
type Limits struct {
	Bytes   int64
	Entries int
}

// Exceeded reports whether the usage is beyond the limits.
func (u Usage) Exceeded(l Limits) bool { return u.Bytes > l.Bytes || u.Entries > l.Entries }

// ErrHidden reports that a folder contains something that cannot be measured: it is nested
// too deeply, or belongs to another user and cannot be read.
var ErrHidden = errors.New("a folder in it cannot be looked into")

// maxDepth is the maximum nesting of folders. Each level uses a descriptor.
const maxDepth = 128

// Of measures all folders together. A missing one counts as empty; a symbolic link or
// another file is an error. Files that appear or vanish meanwhile may or may not count. If a
// limit is exceeded, the usage is a lower bound.
func Of(folders []string, limits Limits) (Usage, error) {
	m := meter{limits: limits, linked: map[inode]bool{}}
	for _, folder := range folders {
		fd, err := beneath.Open(unix.AT_FDCWD, folder, &unix.OpenHow{Flags: openFlags, Resolve: unix.RESOLVE_NO_MAGICLINKS})
		if errors.Is(err, unix.ENOENT) {
			continue
		}
		if err != nil {
			return m.usage, fmt.Errorf("measuring %q: %w", folder, err)
		}
		if err := m.folder(fd, 1); err != nil {
			return m.usage, fmt.Errorf("measuring %q: %w", folder, err)
		}
	}
	return m.usage, nil
}

// Total returns how many bytes all folders take together. More than maxEntries files and
// folders are an error; see Of for the others.
func Total(folders []string, maxEntries int) (int64, error) {
	limits := Limits{Bytes: math.MaxInt64, Entries: maxEntries}
	used, err := Of(folders, limits)
	if err == nil && used.Exceeded(limits) {
		err = fmt.Errorf("they hold more than %d files", maxEntries)
	}
	return used.Bytes, err
}

const openFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// inode identifies a file.
type inode struct{ dev, ino uint64 }

type meter struct {
	limits Limits
	usage  Usage
	linked map[inode]bool // files with several names that were counted
}

// folder measures the contents of the folder open as fd, and closes it.
func (m *meter) folder(fd, depth int) error {
	file := os.NewFile(uintptr(fd), "")
	defer file.Close()
	if depth > maxDepth {
		return ErrHidden
	}
	for !m.usage.Exceeded(m.limits) {
		names, err := file.Readdirnames(256)
		if errors.Is(err, io.EOF) || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if err != nil {
			return err
		}
		folders, err := m.count(fd, names)
		if err != nil {
			return err
		}
		for _, name := range folders {
			below, restore, err := open(fd, name)
			switch {
			case err == nil:
				err = m.folder(below, depth+1)
				restore()
			case gone(err):
				err = nil
			case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
				err = ErrHidden
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// count counts names of a folder and returns those that are folders.
func (m *meter) count(fd int, names []string) (folders []string, err error) {
	for _, name := range names {
		var st unix.Stat_t
		switch err := unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case errors.Is(err, unix.EACCES):
			return nil, ErrHidden
		case err != nil:
			continue // it no longer exists
		}
		m.usage.Entries++
		file := inode{uint64(st.Dev), st.Ino} //nolint:unconvert // the type differs between platforms
		if st.Nlink > 1 && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			if m.linked[file] {
				continue
			}
			m.linked[file] = true
		}
		m.usage.Bytes += st.Blocks * 512
		if st.Mode&unix.S_IFMT == unix.S_IFDIR {
			folders = append(folders, name)
		}
	}
	return folders, nil
}

// open opens the folder called name in the folder dir. If the owner has no access to it, open
// grants it until restore is called.
func open(dir int, name string) (fd int, restore func(), err error) {
	pin, err := beneath.Open(dir, name, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: beneath.Resolve})
	if err != nil {
		return -1, nil, err
	}
	defer unix.Close(pin)
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return -1, nil, err
	}
	restore = func() {}
	path := "/proc/self/fd/" + strconv.Itoa(pin)
	mode := st.Mode & 0o7777
	if mode&0o500 != 0o500 && int(st.Uid) == os.Getuid() {
		if err := unix.Chmod(path, mode|0o500); err != nil {
			return -1, nil, err
		}
	}
	fd, err = unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if mode&0o500 != 0o500 && err == nil {
		// The folder closes its descriptor before.
		kept, dupErr := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if dupErr != nil {
			_ = unix.Close(fd)
			return -1, nil, dupErr
		}
		restore = func() { _, _ = unix.Fchmod(kept, mode), unix.Close(kept) }
	}
	return fd, restore, err
}

// gone reports whether a folder no longer exists, or is not a folder.
func gone(err error) bool {
	for _, other := range []error{unix.ENOENT, unix.ENOTDIR, unix.ELOOP, unix.EXDEV} {
		if errors.Is(err, other) {
			return true
		}
	}
	return false
}
