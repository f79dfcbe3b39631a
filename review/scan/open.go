package scan

import (
	"errors"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"aibox/internal/beneath"
	"aibox/internal/git"
)

// count counts the regular files below a folder, up to maxCounted names. visit,
// when not nil, sees each one.
func (w *walk) count(top string, visit func(*unix.Stat_t)) (files int, more bool) {
	queue, waiting := []string{top}, len(top)
	for looked := 0; len(queue) > 0; {
		dir := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		waiting -= len(dir)
		fd, err := w.open(dir)
		if err != nil {
			more = true
			continue
		}
		f := os.NewFile(uintptr(fd), "")
		for {
			names, err := f.Readdirnames(1024)
			for _, name := range names {
				var st unix.Stat_t
				if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
					continue
				}
				switch looked++; st.Mode & unix.S_IFMT {
				case unix.S_IFDIR:
					if len(dir)+len(name) < maxPath {
						queue = append(queue, dir+"/"+name)
						waiting += len(dir) + 1 + len(name)
					}
				case unix.S_IFREG:
					files++
					if visit != nil {
						visit(&st)
					}
				}
			}
			if looked > maxCounted || waiting > waitingMemory {
				f.Close()
				return files, true
			}
			if len(names) == 0 || err != nil {
				break
			}
		}
		f.Close()
	}
	return files, more
}

// open opens a folder of the workspace for reading; path "" is the top.
func (w *walk) open(path string) (int, error) {
	if path == "" {
		path = "."
	}
	how := unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: beneath.Resolve}
	fd, err := beneath.Open(w.root, path, &how)
	if w.running || err != nil && !errors.Is(err, fs.ErrPermission) {
		return fd, err
	}
	if err == nil { // without x, no entry can be looked at
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil && st.Mode&0o500 != 0o500 {
			_ = unix.Fchmod(fd, st.Mode&0o7777|0o700) // otherwise its entries are refused
		}
		return fd, nil
	}
	// The agent removed the owner's permissions, but aibox's user is the owner.
	pin := w.root
	if path != "." { // which cannot be looked up without the permissions that are missing
		how.Flags = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		if pin, err = beneath.Open(w.root, path, &how); err != nil {
			return -1, err
		}
		defer unix.Close(pin)
	}
	proc := "/proc/self/fd/" + strconv.Itoa(pin)
	if err := os.Chmod(proc, 0o700); err != nil {
		return -1, unix.EACCES
	}
	return unix.Open(proc, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// describeKind names a kind of file that git cannot hold.
func describeKind(kind uint32) string {
	switch kind {
	case unix.S_IFIFO:
		return "a named pipe"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	}
	return "no ordinary file"
}

// describeError returns an error of the system as a reason.
func describeError(err error) string {
	switch {
	case errors.Is(err, unix.EXDEV):
		return "it leads out of the workspace"
	case errors.Is(err, unix.ELOOP):
		return "a symlink is on the way"
	case errors.Is(err, fs.ErrPermission):
		return "it may not be read"
	case errors.Is(err, fs.ErrNotExist):
		return "it is gone"
	}
	return err.Error()
}

// gitMode returns git's mode for a file with this stat.
func gitMode(st *unix.Stat_t) git.Mode {
	if st.Mode&0o100 != 0 {
		return git.Executable
	}
	return git.File
}
