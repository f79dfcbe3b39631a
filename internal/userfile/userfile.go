// Package userfile reads files of the user's configuration that determine builds and runs,
// such as settings, agents and templates. It refuses files that other users can write to.
package userfile

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/user"
	"strconv"
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

// CheckSettings returns an error if another user owns the open settings file or can write to it. The
// user's own group can write to it: on some systems, such as Ubuntu, each user has one, and can write to
// all new files by it.
func CheckSettings(info fs.FileInfo, path string) error {
	others := fs.FileMode(0o022)
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode()&0o020 != 0 && isOwnGroup(int(stat.Gid)) {
		others = 0o002
	}
	return ownedAlone(info, "it", path, others)
}

// lookUp and lookUpGroup find an account and a group by their numbers.
var lookUp, lookUpGroup = user.LookupId, user.LookupGroupId

// isOwnGroup reports whether the group is that of the user's account, and has the number or the name of the
// account. The group of the process can be another one, such as after newgrp.
func isOwnGroup(gid int) bool {
	account, err := lookUp(strconv.Itoa(os.Getuid()))
	if err != nil { // of a directory service
		return gid == os.Getgid() && gid == os.Getuid()
	}
	if account.Gid != strconv.Itoa(gid) {
		return false
	}
	group, err := lookUpGroup(account.Gid)
	return account.Gid == account.Uid || err == nil && group.Name == account.Username
}

// ownedAlone returns an error if another user owns the file or can write to it. Root may own
// it. subject is what the error calls the file, and others has the bits of the mode by which others can write.
func ownedAlone(info fs.FileInfo, subject, path string, others fs.FileMode) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(stat.Uid) != os.Getuid() && stat.Uid != 0 {
		return fault.New(fault.Usage, "%s belongs to another user", subject).Hint("replace %s by a copy of your own", subject)
	}
	if mode := info.Mode().Perm(); mode&others != 0 {
		return fault.New(fault.Usage, "other users can write to %s (mode %04o)", subject, mode).Hint("chmod go-w %s", path)
	}
	return nil
}
