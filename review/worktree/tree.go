package worktree

import (
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"aibox/internal/beneath"
	"aibox/internal/eol"
	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/slashpath"
	"aibox/internal/termtext"
)

// userTree is the user's working tree. Names are resolved beneath its top without
// following symlinks, and only a transaction changes it.
type userTree struct {
	top    string
	root   int // descriptor of top
	stamp  stamp
	device uint64
	format git.Format
	nested map[string]string // by checked folder: the nested repository that contains it, or ""
}

func openUserTree(top string, format git.Format) (*userTree, error) {
	root, err := unix.Open(top, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fault.New(fault.Usage, "your repository %s is not there any more: %w", termtext.Escape(top), err).
			Hint("put it back where it was; the work is kept, and `aibox recover` lists it")
	}
	u := &userTree{top: top, root: root, format: format, nested: map[string]string{"": ""}}
	var st unix.Stat_t
	if err := unix.Fstat(root, &st); err != nil {
		unix.Close(root)
		return nil, err
	}
	u.device, u.stamp = st.Dev, stampOf(&st)
	return u, nil
}

func (u *userTree) close() { unix.Close(u.root) }

// reason is the reason why a path cannot be changed, for the user.
type reason string

func (c reason) Error() string { return string(c) }

// reasonFor turns an error of the system into a reason.
func reasonFor(err error) reason {
	switch {
	case errors.Is(err, unix.EXDEV):
		return "it lies on another file system than the rest of your working tree"
	case errors.Is(err, unix.ELOOP):
		return "a symlink of yours is on the way"
	case errors.Is(err, unix.ENOTDIR):
		return "a file of yours is in the place of its folder"
	case errors.Is(err, unix.EROFS):
		return "it lies on a disk that is read-only"
	case errors.Is(err, unix.ENAMETOOLONG):
		return "its name is too long for your disk"
	case errors.Is(err, fs.ErrPermission):
		return "you may not read it"
	}
	return reason(termtext.Escape(err.Error()))
}

// stamp identifies a file and its version.
type stamp struct {
	Inode uint64 `json:"inode"`
	Size  int64  `json:"size"`
	Mtime int64  `json:"mtime"` // nanoseconds since 1970
	Mode  uint32 `json:"mode"`  // st_mode
	Ctime int64  `json:"ctime"` // changes with the name, too
}

func stampOf(st *unix.Stat_t) stamp {
	return stamp{Inode: st.Ino, Size: st.Size, Mtime: st.Mtim.Nano(), Mode: st.Mode, Ctime: st.Ctim.Nano()}
}

// sameContent reports whether s and now are the same file, not written to meanwhile, under
// any name.
func (s stamp) sameContent(now stamp) bool {
	s.Ctime, now.Ctime = 0, 0
	return s == now
}

// fileState is the state of a path in the user's working tree.
type fileState struct {
	kind  uint32 // S_IFREG, S_IFLNK, S_IFDIR, …; 0: nothing
	stamp stamp
	id    string // of the bytes as a blob; of files and symlinks
	lines eol.Counter
}

func (s fileState) mode() git.Mode {
	switch {
	case s.kind == unix.S_IFLNK:
		return git.Symlink
	case s.stamp.Mode&0o100 != 0:
		return git.Executable
	}
	return git.File
}

// look reads the state of path. The error is a reason.
func (u *userTree) look(path string) (fileState, error) {
	pin, err := u.openPath(path)
	if isAbsent(err) {
		return fileState{}, nil
	}
	if err != nil {
		return fileState{}, reasonFor(err)
	}
	defer unix.Close(pin)
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return fileState{}, reasonFor(err)
	}
	s := fileState{kind: st.Mode & unix.S_IFMT, stamp: stampOf(&st)}
	switch s.kind {
	case unix.S_IFLNK:
		buf := make([]byte, unix.PathMax+1)
		n, err := unix.Readlinkat(pin, "", buf)
		if err != nil {
			return s, reasonFor(err)
		}
		s.id = u.format.BlobID(buf[:n])
	case unix.S_IFREG:
		if st.Dev != u.device {
			return s, reasonFor(unix.EXDEV)
		}
		return s, u.hash(pin, &s)
	}
	return s, nil
}

// openPath pins the file at path, of any kind, without opening it.
func (u *userTree) openPath(path string) (int, error) {
	return beneath.Open(u.root, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: beneath.Resolve})
}

// hash reads the pinned regular file once, for its id and its line endings.
func (u *userTree) hash(pin int, s *fileState) error {
	file, err := openPinned(pin)
	if err != nil {
		return reasonFor(err)
	}
	defer file.Close()
	h := u.format.Blob(s.stamp.Size)
	n, err := io.Copy(io.MultiWriter(h, &s.lines), file)
	if err != nil {
		return reasonFor(err)
	}
	s.id = hexSum(h)
	return unchangedSince(file, s.stamp, n)
}

// unchangedSince fails when an open file was written to while n bytes of it were read.
func unchangedSince(file *os.File, was stamp, n int64) error {
	var now unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &now); err != nil {
		return reasonFor(err)
	}
	if n != was.Size || !was.sameContent(stampOf(&now)) {
		return reason("it keeps changing")
	}
	return nil
}

// content returns the bytes of the regular file at path, which must still be as in s.
func (u *userTree) content(path string, s fileState) ([]byte, error) {
	pin, err := u.openPath(path)
	if err != nil {
		return nil, reasonFor(err)
	}
	defer unix.Close(pin)
	if s.kind == unix.S_IFLNK {
		buf := make([]byte, unix.PathMax+1)
		n, err := unix.Readlinkat(pin, "", buf)
		if err != nil {
			return nil, reasonFor(err)
		}
		return buf[:n], nil
	}
	file, err := openPinned(pin)
	if err != nil {
		return nil, reasonFor(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, s.stamp.Size+1))
	if err != nil {
		return nil, reasonFor(err)
	}
	return data, unchangedSince(file, s.stamp, int64(len(data)))
}

// open opens the file or folder at path for reading.
func (u *userTree) open(path string) (*os.File, error) {
	pin, err := u.openPath(path)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pin)
	return openPinned(pin)
}

// openPinned opens a pinned regular file for reading.
func openPinned(pin int) (*os.File, error) {
	fd, err := unix.Open("/proc/self/fd/"+strconv.Itoa(pin), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), ""), nil
}

func hexSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil)) }

// folder opens the folder dir, "" being the top.
func (u *userTree) folder(dir string) (int, error) {
	if dir == "" {
		dir = "."
	}
	return beneath.Open(u.root, dir, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: beneath.Resolve})
}

// in calls use with the folder of path and its base name.
func (u *userTree) in(path string, use func(folder int, name string) error) error {
	dir, name := slashpath.Split(path)
	fd, err := u.folder(dir)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return use(fd, name)
}

// lstat returns the stamp of path; the error is ENOENT or ENOTDIR when it does not exist.
func (u *userTree) lstat(path string) (stamp, error) {
	var st unix.Stat_t
	err := u.in(path, func(folder int, name string) error {
		return unix.Fstatat(folder, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	})
	return stampOf(&st), err
}

// isAbsent reports whether err means that nothing is at a path.
func isAbsent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// enter checks the parent folders of path: which of them are missing, and whether the
// innermost existing one may be changed. The error is a reason.
func (u *userTree) enter(path string) (missing []string, err error) {
	dirs := append([]string{""}, slashpath.Parents(path)...)
	for i := len(dirs) - 1; ; i-- {
		fd, err := u.folder(dirs[i])
		if errors.Is(err, fs.ErrNotExist) && i > 0 {
			missing = dirs[i:]
			continue
		}
		if err != nil {
			return nil, reasonFor(err)
		}
		defer unix.Close(fd)
		if err := u.checkWritable(fd, dirs[i]); err != nil {
			return nil, err
		}
		return missing, nil
	}
}

// checkWritable checks an open folder.
func (u *userTree) checkWritable(fd int, dir string) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return reasonFor(err)
	}
	if st.Dev != u.device {
		return reasonFor(unix.EXDEV)
	}
	if inner := u.nestedRepository(dir); inner != "" {
		return reason(fmt.Sprintf("%s is a repository of its own", termtext.Escape(inner)))
	}
	err := unix.Faccessat(fd, ".", unix.W_OK|unix.X_OK, unix.AT_EACCESS)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return reason("its folder may not be written")
	case err != nil:
		return reasonFor(err)
	}
	return nil
}

// nestedRepository returns the outermost parent of dir that has its own .git.
func (u *userTree) nestedRepository(dir string) string {
	if found, known := u.nested[dir]; known {
		return found
	}
	parent, _ := slashpath.Split(dir)
	found := u.nestedRepository(parent)
	if found == "" {
		if _, err := u.lstat(dir + "/.git"); err == nil {
			found = dir
		}
	}
	u.nested[dir] = found
	return found
}

// findUnexpected searches the folder dir recursively and returns the first unexpected
// name; if there is none, the folders in dir and dir itself, inner first.
func (u *userTree) findUnexpected(dir string, expected func(path string, folder bool) bool) (unexpected string, folders []string, err error) {
	entries, err := u.entries(dir)
	if err != nil {
		return "", nil, err
	}
	for _, entry := range entries {
		path := dir + "/" + entry.Name()
		if !expected(path, entry.IsDir()) {
			return path, nil, nil
		}
		if !entry.IsDir() {
			continue
		}
		unexpected, below, err := u.findUnexpected(path, expected)
		if unexpected != "" || err != nil {
			return unexpected, nil, err
		}
		folders = append(folders, below...)
	}
	return "", append(folders, dir), nil
}

// entries lists the folder dir. It keeps no descriptor, because folders may be nested
// deeper than a process may have files open.
func (u *userTree) entries(dir string) ([]fs.DirEntry, error) {
	fd, err := u.folder(dir)
	if err != nil {
		return nil, err
	}
	folder := os.NewFile(uintptr(fd), "")
	defer folder.Close()
	return folder.ReadDir(-1)
}
