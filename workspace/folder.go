package workspace

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Folder tells one folder from another that was later made under its name: when a
// workspace is gone, the next session of the repository gets the same path. An
// inode's number may be used again, but not with the same time of birth. The zero
// value is the folder of a record from before folders were told apart.
type Folder struct {
	Inode uint64 `json:"inode"`
	Born  int64  `json:"born"` // nanoseconds since 1970; 0 where the file system does not tell
}

// identify reads which folder stands at path, without following a symlink there.
func identify(path string) (Folder, error) {
	var st unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, unix.STATX_INO|unix.STATX_TYPE|unix.STATX_BTIME, &st)
	if err != nil {
		return Folder{}, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return Folder{}, unix.ENOTDIR
	}
	folder := Folder{Inode: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		folder.Born = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return folder, nil
}

// Gone reports whether the workspace's folder has been removed. Another session's
// folder at the same path does not count as this one's. An error says that it
// cannot be told.
func (w *Workspace) Gone() (bool, error) {
	now, err := identify(w.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENOTDIR):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("looking at the workspace %s: %w", w.Path, err)
	default:
		return w.Folder != Folder{} && w.Folder != now, nil
	}
}
