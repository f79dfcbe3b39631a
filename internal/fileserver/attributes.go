package fileserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// special are the bits of a mode besides the permissions.
const special = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// copyAttributes gives the copy of a file or folder, and of all below it, the owner, the mode and
// the time of the original, as far as its file system has them. Only root can give it another
// owner. A copy that does not get its owner does not run as another user either.
func copyAttributes(from, to string) error {
	source, err := os.OpenRoot(dirOf(from))
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenRoot(dirOf(to))
	if err != nil {
		return err
	}
	defer target.Close()
	return attributes{source, target}.copy(filepath.Base(from), filepath.Base(to))
}

// attributes copies attributes from below one folder to below another.
type attributes struct{ source, target *os.Root }

func (a attributes) copy(from, to string) error {
	original, err := a.source.Lstat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // removed meanwhile
	}
	if err != nil {
		return err
	}
	copied, err := a.target.Lstat(to)
	if err != nil {
		return err
	}
	if original.Mode().Type() != copied.Mode().Type() {
		return nil // replaced meanwhile
	}
	if copied.IsDir() { // first what is below, which the folder's mode could make unreachable
		if err := a.below(from, to); err != nil {
			return err
		}
	}
	a.set(to, original, copied)
	return nil
}

// below copies the attributes of all that is in a folder.
func (a attributes) below(from, to string) error {
	folder, err := a.target.OpenFile(to, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	names, err := folder.Readdirnames(-1)
	_ = folder.Close()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := a.copy(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// set sets the attributes of one file or folder of the copy. Its content is usable without them, and
// the mode that it was made with permits nobody but its owner more than the original does.
func (a attributes) set(to string, original, copied fs.FileInfo) {
	mode := original.Mode()
	own, isStat := original.Sys().(*syscall.Stat_t)
	now, isNow := copied.Sys().(*syscall.Stat_t)
	if isStat && isNow && (own.Uid != now.Uid || own.Gid != now.Gid) {
		if err := a.target.Lchown(to, int(own.Uid), int(own.Gid)); err != nil {
			mode &^= fs.ModeSetuid | fs.ModeSetgid
		}
	}
	if mode&fs.ModeSymlink != 0 {
		return
	}
	_ = a.target.Chmod(to, mode&(fs.ModePerm|special))
	_ = a.target.Chtimes(to, original.ModTime(), original.ModTime())
}
