package workspace

import (
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// The windows within which two changes may get the same ctime.
const (
	coarseClock = 2 * time.Second        // FAT, HFS+, old servers
	fineClock   = 100 * time.Millisecond // proven by trustCtime; the kernel's tick is at most 10 ms
)

// local holds the magic numbers of file systems whose ctime only the kernel sets, so that
// it cannot be set back without access to the raw disk.
var local = map[int64]bool{
	unix.EXT4_SUPER_MAGIC: true, unix.XFS_SUPER_MAGIC: true, unix.BTRFS_SUPER_MAGIC: true,
	unix.TMPFS_MAGIC: true, unix.F2FS_SUPER_MAGIC: true, unix.OVERLAYFS_SUPER_MAGIC: true,
	0x2fc12fc1: true, // ZFS
	0xca451a4e: true, // bcachefs
}

// trustCtime measures how far the ctime of dir's file system can be trusted: whether it
// shows a change at all, and how fine its clock is. It takes about 30 ms.
func trustCtime(dir string) (racy time.Duration, hashAll bool) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil || !local[int64(fs.Type)] { //nolint:unconvert // int32 on some machines
		return coarseClock, true
	}
	probe, err := os.CreateTemp(dir, ".aibox-clock-*")
	if err != nil {
		return coarseClock, true
	}
	defer os.Remove(probe.Name())
	defer probe.Close()
	var before, after unix.Stat_t
	if unix.Fstat(int(probe.Fd()), &before) != nil {
		return coarseClock, true
	}
	time.Sleep(30 * time.Millisecond) // longer than any tick, far shorter than a coarse clock's step
	_, err = probe.Write([]byte("x"))
	old := time.Unix(before.Mtim.Unix())
	if err != nil || os.Chtimes(probe.Name(), old, old) != nil || unix.Fstat(int(probe.Fd()), &after) != nil {
		return coarseClock, true
	}
	step := after.Ctim.Nano() - before.Ctim.Nano()
	if step <= 0 {
		return coarseClock, true
	}
	if step < int64(time.Second) {
		return fineClock, false
	}
	return coarseClock, false
}

// StatOf returns the fields of st that a baseline stores.
func StatOf(st *unix.Stat_t) Stat {
	return Stat{
		Size: uint64(st.Size), Inode: st.Ino, Perm: st.Mode,
		Mtime: st.Mtim.Nano(), Ctime: st.Ctim.Nano(),
	}
}

// join joins dir with a slash-separated path from a repository.
func join(dir, path string) string { return filepath.Join(dir, filepath.FromSlash(path)) }
