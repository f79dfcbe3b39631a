package diskuse

import (
	"errors"
	"math"

	"golang.org/x/sys/unix"
)

// ErrNoSize is the error of a file system that does not report its size, as some in user space.
var ErrNoSize = errors.New("its file system does not report its size")

// Free returns how many bytes the user can still write to the disk of a folder. The error can be
// ErrNoSize.
func Free(folder string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return 0, err
	}
	if fs.Blocks == 0 || fs.Bsize <= 0 {
		return 0, ErrNoSize
	}
	return int64(min(fs.Bavail, uint64(math.MaxInt64/fs.Bsize))) * fs.Bsize, nil
}
