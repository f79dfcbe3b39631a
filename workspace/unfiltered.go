package workspace

import (
	"io"
	"os"
	"path"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
)

// unfiltered has the files of a workspace that the user's repository stores through a filter, such
// as Git LFS. No filter runs for aibox, so the content that was on disk is only there, as long as
// the agent has not changed it. nil has none.
type unfiltered struct {
	top    int // descriptor of the workspace
	format git.Format
	raw    map[string]string // path → id of the content on disk at the start, binary
	left   int64             // bytes that can still be copied, also of files that the agent has changed
}

// newUnfiltered opens a workspace, of which most bytes can be copied; nil if that is not possible.
func newUnfiltered(ws *Workspace, most int64) *unfiltered {
	top, err := unix.Open(ws.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return &unfiltered{top: top, raw: map[string]string{}, left: most}
}

func (u *unfiltered) close() {
	if u != nil {
		unix.Close(u.top)
	}
}

func (u *unfiltered) add(format git.Format, f *File) {
	if u != nil {
		u.format, u.raw[f.Path] = format, f.Raw
	}
}

// extract writes a file below root with the content of the start, if the workspace still has
// that.
func (u *unfiltered) extract(root int, e git.Entry) (done bool, err error) {
	if u == nil || e.Mode == git.Symlink {
		return false, nil
	}
	fd, err := unix.Openat2(u.top, e.Path, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC, Resolve: confined,
	})
	if err != nil {
		return false, nil // the agent removed it, or its permissions
	}
	file := os.NewFile(uintptr(fd), e.Path)
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > u.left {
		return false, err
	}
	u.left -= info.Size()
	hash := u.format.Blob(info.Size())
	// The agent may write to it meanwhile, so what counts is the content that was read.
	if _, err := extractFile(root, e, io.TeeReader(io.LimitReader(file, info.Size()), hash)); err != nil {
		return false, err
	}
	if string(hash.Sum(nil)) == u.raw[e.Path] {
		return true, nil
	}
	dir, err := openDir(root, folderOf(e.Path))
	if err != nil {
		return false, err
	}
	defer unix.Close(dir)
	return false, unix.Unlinkat(dir, path.Base(e.Path), 0)
}
