package fileserver

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aibox/internal/files"
)

// bufferSize is the size of the pieces in which files are read and written.
const bufferSize = 256 << 10

// maxLinks bounds the symlinks from a path to its file.
const maxLinks = 40

// read sends a part of a regular file.
func (s *Server) read(path string, part files.Range, x *files.Exchange) error {
	f, stat, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if part.Offset > 0 {
		if _, err := f.Seek(part.Offset, io.SeekStart); err != nil {
			return err
		}
	}
	entry := describe(path, stat, s.Names())
	if err := x.Begin(files.Answer{Entry: &entry}); err != nil {
		return err
	}
	var in io.Reader = f
	if part.Length > 0 {
		in = io.LimitReader(f, part.Length)
	}
	_, err = io.CopyBuffer(x.Output(), struct{ io.Reader }{in}, make([]byte, bufferSize))
	return err
}

// openRegular opens a regular file. Opening anything else could wait for another program, or
// act on a device, so the check comes first. A program may replace the file in between, so
// the check comes again.
func openRegular(path string) (*os.File, *unix.Stat_t, error) {
	stat, err := statFile(path, true)
	if err == nil {
		err = checkRegular(path, stat)
	}
	if err != nil {
		return nil, nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	err = unix.Fstat(int(f.Fd()), stat)
	if err == nil {
		err = checkRegular(path, stat)
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, stat, nil
}

func checkRegular(path string, stat *unix.Stat_t) error {
	switch kindOf(stat.Mode) {
	case files.Regular:
		return nil
	case files.Folder:
		return failed(files.IsFolder, path, "it is a folder")
	default:
		return failed(files.NotRegular, path, "it is a device, a pipe or a socket")
	}
}

// write replaces a file with the content of in, in one step.
func (s *Server) write(path string, o files.WriteOptions, in io.Reader) (files.Answer, error) {
	target, err := followLinks(path)
	if err != nil {
		return files.Answer{}, err
	}
	if o.Parents {
		if err := os.MkdirAll(dirOf(target), 0o755); err != nil { //nolint:gosec // the usual mode of folders
			return files.Answer{}, err
		}
	}
	mode, isNew, err := modeOf(target, o)
	if err != nil {
		return files.Answer{}, err
	}
	pattern := partPattern
	if isNew {
		pattern = newPattern
	}
	part, err := os.CreateTemp(dirOf(target), pattern)
	if err != nil {
		return files.Answer{}, withPath(err, dirOf(target))
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{part}, struct{ io.Reader }{in}, make([]byte, bufferSize))
	if err = errors.Join(err, part.Close()); err == nil {
		err = setMode(part.Name(), mode)
	}
	if err == nil {
		err = rename(part.Name(), target, !o.New)
	}
	if err != nil {
		_ = os.Remove(part.Name())
		return files.Answer{}, withPath(err, target)
	}
	return s.stat(target, false)
}

// modeOf returns the mode for the file at path, and whether the file is new. Only a regular
// file may be at path.
func modeOf(path string, o files.WriteOptions) (mode uint32, isNew bool, err error) {
	stat, err := statFile(path, false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if o.Mode == 0 {
			return 0o644, true, nil
		}
		return o.Mode, true, nil
	case err != nil:
		return 0, false, err
	case o.New:
		return 0, false, failed(files.Exists, path, "it exists already")
	}
	if err := checkRegular(path, stat); err != nil {
		return 0, false, err
	}
	if o.Mode == 0 {
		return stat.Mode & 0o777, false, nil
	}
	return o.Mode, false, nil
}

// followLinks resolves symlinks in the last component of path. The resulting file need not
// exist.
func followLinks(path string) (string, error) {
	for range maxLinks {
		target, err := os.Readlink(path)
		switch {
		case errors.Is(err, unix.EINVAL) || errors.Is(err, fs.ErrNotExist):
			return path, nil
		case err != nil:
			return "", err
		case filepath.IsAbs(target):
			path = target
		default:
			path = dirOf(path) + "/" + target
		}
	}
	return "", failed(files.Invalid, path, "too many symlinks")
}

// rename renames a file. Without replace, an existing file is an error.
func rename(from, to string, replace bool) error {
	if replace {
		return os.Rename(from, to)
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	if errors.Is(err, unix.EINVAL) {
		// gVisor's mounts of the host, such as /workspace, cannot do it in one step.
		if _, err := statFile(to, false); err == nil {
			return &fs.PathError{Op: "rename", Path: to, Err: unix.EEXIST}
		}
		return os.Rename(from, to)
	}
	if err != nil {
		return &fs.PathError{Op: "rename", Path: to, Err: err}
	}
	return nil
}

// withPath replaces a temporary file's name in an error with path.
func withPath(err error, path string) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
	case errors.As(err, &link):
		return &fs.PathError{Op: link.Op, Path: path, Err: link.Err}
	}
	return err
}
