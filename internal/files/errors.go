package files

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// toError returns the Error for a failed operation on path.
func toError(path Path, err error) *Error {
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	var at *fs.PathError
	if errors.As(err, &at) {
		path, err = Path(at.Path), at.Err
	}
	for _, reason := range reasons {
		if errors.Is(err, reason.err) {
			return &Error{Code: reason.code, Path: path, Message: reason.message}
		}
	}
	return &Error{Code: Failed, Path: path, Message: err.Error()}
}

// reasons are the errors of the kernel that have a Code.
var reasons = []struct {
	err     error
	code    Code
	message string
}{
	{unix.ENOENT, NotFound, "there is no such file"},
	{unix.EEXIST, Exists, "it exists already"},
	{unix.EACCES, Permission, "permission denied"},
	{unix.EPERM, Permission, "permission denied"},
	{unix.EROFS, Permission, "it is on a read-only file system"},
	{unix.ENOTDIR, NotFolder, "it is not a folder"},
	{unix.EISDIR, IsFolder, "it is a folder"},
	{unix.ENOTEMPTY, NotEmpty, "the folder is not empty"},
	{unix.ENXIO, NotRegular, "it is a device, a pipe or a socket"},
	{unix.ENOSPC, NoSpace, "the disk is full"},
	{unix.EDQUOT, NoSpace, "the disk is full"},
	{unix.ENAMETOOLONG, Invalid, "the name is too long"},
	{unix.ELOOP, Invalid, "too many symlinks"},
	{unix.EBUSY, Permission, "it is a mount point"},
	{unix.EMFILE, Exhausted, "too many open files"},
	{unix.ENFILE, Exhausted, "too many open files"},
}
