// Package beneath opens names in a folder that another process may change at the same time: never outside it,
// never through a symlink, never on another mount. os.Root follows symlinks that stay inside, and opening
// a FIFO through it blocks.
package beneath

import "golang.org/x/sys/unix"

// Resolve has the flags for resolving names: beneath the folder, no symlink, no other
// mount.
const Resolve = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_XDEV

// Open repeats the call after EAGAIN, with which RESOLVE_BENEATH fails when a file is
// renamed elsewhere.
func Open(root int, path string, how *unix.OpenHow) (int, error) {
	for try := 0; ; try++ {
		fd, err := unix.Openat2(root, path, how)
		if err == unix.EINTR || err == unix.EAGAIN && try < 100 {
			continue
		}
		return fd, err
	}
}
