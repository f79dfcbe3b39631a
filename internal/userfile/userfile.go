// Package userfile reads files of the user's configuration that determine builds and runs,
// such as settings, agents and templates. It refuses files that other users can write to.
package userfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"aibox/internal/fault"
)

// byteOrderMark begins files of some editors. TOML does not allow it.
const byteOrderMark = "\ufeff"

// Read returns the content of a file, at most one byte more than most. It refuses anything
// but a regular file, a file that other users can write to, and one with a byte order mark.
func Read(path string, most int64) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a fifo must not keep aibox waiting
	if err != nil {
		return nil, errors.Unwrap(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	if err := ownedAlone(info, "it", path, 0o022); err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && bytes.HasPrefix(data, []byte(byteOrderMark)) {
		err = errors.New("it begins with a byte order mark (BOM); save it as UTF-8 without one")
	}
	return data, err
}

// CheckDir returns an error if another user owns dir or can write to it, and could so replace
// the files in it. A folder that does not exist is fine.
func CheckDir(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return ownedAlone(info, "its folder", dir, 0o022)
}

// CheckSettings returns an error if another user owns the open settings file or can write to it. A
// group of the user alone can write to it: on some systems, such as Ubuntu, each user has one, with
// the same number, and can write to all new files by it.
func CheckSettings(info fs.FileInfo, path string) error {
	others := fs.FileMode(0o022)
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Gid) == os.Getgid() && os.Getgid() == os.Getuid() {
		others = 0o002
	}
	return ownedAlone(info, "it", path, others)
}

// ownedAlone returns an error if another user owns the file or can write to it. Root may own
// it. subject is what the error calls the file, and others has the bits of the mode by which others can write.
func ownedAlone(info fs.FileInfo, subject, path string, others fs.FileMode) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Getuid() && stat.Uid != 0 {
		return fmt.Errorf("%s belongs to another user", subject)
	}
	if mode := info.Mode().Perm(); mode&others != 0 {
		return fault.New(fault.Usage, "other users can write to %s (mode %04o)", subject, mode).Hint("chmod go-w %s", path)
	}
	return nil
}
