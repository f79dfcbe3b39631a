package workspace

import (
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// Folder identifies a folder, since its path does not: after a workspace is removed, the
// next session of the repository gets the same path. An inode number may be reused, but
// not with the same time of birth. Records of early versions have the zero value.
type Folder struct {
	Inode uint64 `json:"inode"`
	Born  int64  `json:"born"` // nanoseconds since 1970; 0 where the file system does not record it
}

// identify identifies the folder at path. It does not follow a symlink there.
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

// Gone reports whether the workspace's folder has been removed. Another session's folder
// may be at the same path. It returns an error if it cannot find out.
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
