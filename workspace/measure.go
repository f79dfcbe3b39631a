package workspace

import (
	"os"

	"golang.org/x/sys/unix"
)

// maxDepth is how many levels Measure descends. It does not count anything deeper.
const maxDepth = 256

// Measure counts the files at path and below, and the bytes that they take on the disk. It
// follows no symlink and skips unreadable entries.
func Measure(path string) (files int, bytes int64) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0, 0
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return 1, st.Blocks * 512
	}
	m := &measure{}
	m.folder(unix.AT_FDCWD, path, 0)
	return m.files, m.bytes
}

type measure struct {
	files int
	bytes int64
}

func (m *measure) folder(parent int, name string, depth int) {
	fd, err := unix.Openat(parent, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	dir := os.NewFile(uintptr(fd), name)
	defer dir.Close()
	for {
		names, err := dir.Readdirnames(1024)
		for _, entry := range names {
			m.entry(fd, entry, depth)
		}
		if err != nil || len(names) == 0 {
			return // io.EOF, for one
		}
	}
}

func (m *measure) entry(dir int, name string, depth int) {
	var st unix.Stat_t
	if unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return
	}
	m.bytes += st.Blocks * 512
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		m.files++
	} else if depth < maxDepth {
		m.folder(dir, name, depth+1)
	}
}
