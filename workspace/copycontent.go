package workspace

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/termtext"
)

// copyContent copies an open regular file and hashes it at the same time.
func (c *copier) copyContent(fd, to int, name string, st *unix.Stat_t, result *copied, buf []byte) error {
	perm := uint32(0o644)
	if st.Mode&0o100 != 0 {
		perm = 0o755
	}
	out, err := unix.Openat(to, name, unix.O_RDWR|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	if err != nil {
		return fmt.Errorf("copying %s: %w", termtext.Escape(result.Path), err)
	}
	defer unix.Close(out)
	if st.Size <= smallFile {
		err = c.copySmall(fd, out, result, buf)
	} else {
		err = c.copyLarge(fd, out, result)
	}
	if err != nil {
		return fmt.Errorf("copying %s: %w", termtext.Escape(result.Path), err)
	}
	times := [2]unix.Timespec{st.Mtim, st.Mtim}
	if err := unix.UtimesNanoAt(out, "", times[:], unix.AT_EMPTY_PATH); err != nil {
		if err := unix.UtimesNanoAt(to, name, times[:], unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	var now unix.Stat_t
	if err := unix.Fstat(out, &now); err != nil {
		return err
	}
	result.Stat, result.mtime = StatOf(&now), st.Mtim.Nano()
	return nil
}

func (c *copier) copySmall(fd, out int, result *copied, buf []byte) error {
	n := 0
	for n < len(buf) {
		m, err := unix.Read(fd, buf[n:])
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if m == 0 {
			break
		}
		n += m
	}
	if n == len(buf) { // it has grown since
		if _, err := unix.Seek(fd, 0, io.SeekStart); err != nil {
			return err
		}
		return c.copyLarge(fd, out, result)
	}
	data := buf[:n]
	if c.keys != nil && isPrivateKey(data) && c.keys(result.Path) {
		result.key = true
		return nil
	}
	h := c.format.Blob(int64(n))
	h.Write(data)
	result.Raw = string(h.Sum(nil))
	if strings.HasSuffix(result.Path, ".gitignore") {
		result.content = bytes.Clone(data)
	}
	for len(data) > 0 {
		m, err := unix.Write(out, data)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		data = data[m:]
	}
	return nil
}

// copyLarge clones the file where the file system can (a reflink, with its own inode), else
// lets the kernel copy it. Then it reads the copy once.
func (c *copier) copyLarge(fd, out int, result *copied) error {
	dst, err := reopen(out)
	if err != nil {
		return err
	}
	defer dst.Close()
	if err := unix.IoctlFileClone(out, fd); err != nil {
		src, err := reopen(fd)
		if err != nil {
			return err
		}
		defer src.Close()
		if err := c.copyBytes(dst, src); err != nil {
			return err
		}
	}
	size, err := unix.Seek(out, 0, io.SeekEnd)
	if err != nil {
		return err
	}
	h := c.format.Blob(size)
	if _, err := io.Copy(h, io.NewSectionReader(dst, 0, size)); err != nil {
		return err
	}
	result.Raw = string(h.Sum(nil))
	return nil
}

// copyBytes copies a file that cannot be cloned.
func (c *copier) copyBytes(dst, src *os.File) error {
	if c.room == nil {
		_, err := io.Copy(dst, src)
		return err
	}
	info, err := src.Stat()
	if err != nil {
		return err
	}
	if c.room.Add(-info.Size()) < 0 {
		return fault.New(fault.Limit, "the workspace grows faster than it can be copied")
	}
	_, err = io.Copy(dst, io.LimitReader(src, info.Size()))
	return err
}

// reopen returns another descriptor for an open file. The caller closes it.
func reopen(fd int) (*os.File, error) {
	dup, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(dup), ""), nil
}
