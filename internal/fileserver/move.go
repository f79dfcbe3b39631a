package fileserver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"aibox/internal/archive"
	"aibox/internal/files"
)

// move renames a file or folder. If the target is on another file system, it copies first.
func (s *Server) move(from, to string, replace bool) (files.Answer, error) {
	stat, err := statFile(from, false)
	if err != nil {
		return files.Answer{}, err
	}
	err = rename(from, to, replace)
	if errors.Is(err, unix.EXDEV) {
		err = moveAcross(from, to, kindOf(stat.Mode), replace)
	}
	if err != nil {
		return files.Answer{}, withPath(err, to)
	}
	return s.stat(to, false)
}

// moveAcross moves a file or folder to another file system. The new one appears in one step.
func moveAcross(from, to string, kind files.Kind, replace bool) error {
	if kind == files.Special {
		return failed(files.NotRegular, from, "a device, a pipe or a socket cannot be moved to another file system")
	}
	if inside, err := isBelow(dirOf(to), from); err != nil {
		return err
	} else if inside { // the copy would be a part of itself
		return &fs.PathError{Op: "rename", Path: to, Err: unix.EINVAL}
	}
	parent, err := filepath.EvalSymlinks(dirOf(to)) // below it, a cleaned path is the same one
	if err != nil {
		return withPath(err, dirOf(to))
	}
	folder, err := os.MkdirTemp(parent, partPattern)
	if err != nil {
		return withPath(err, dirOf(to))
	}
	defer os.RemoveAll(folder)
	part := filepath.Join(folder, "moved")
	if kind == files.Symlink {
		err = copyLink(from, part)
	} else {
		err = copyTree(from, part)
	}
	// The modes of folders can keep their owner from moving and removing them, but not root.
	isRoot := os.Geteuid() == 0
	if err == nil && isRoot {
		err = copyAttributes(from, part)
	}
	if err == nil {
		err = rename(part, to, replace)
	}
	if err != nil {
		return err
	}
	if !isRoot {
		_ = copyAttributes(from, to) // it has moved: a folder that cannot be read, for example, must not undo that
	}
	return os.RemoveAll(from)
}

// isBelow reports whether a folder is outer itself or below it, also by another path to outer.
func isBelow(folder, outer string) (bool, error) {
	of, err := os.Lstat(outer)
	if err != nil {
		return false, err
	}
	for folder, err = filepath.EvalSymlinks(folder); err == nil; folder = filepath.Dir(folder) {
		info, err := os.Stat(folder)
		if err != nil {
			return false, err
		}
		if os.SameFile(info, of) {
			return true, nil
		}
		if folder == filepath.Dir(folder) {
			return false, nil
		}
	}
	return false, err
}

func copyLink(from, to string) error {
	target, err := os.Readlink(from)
	if err != nil {
		return err
	}
	return os.Symlink(target, to)
}

// copyTree copies a file, or a folder with everything below it.
func copyTree(from, to string) error {
	out, in := io.Pipe()
	left := 0
	go func() {
		err := archive.Pack(in, from, func(string) { left++ })
		if err == nil && left > 0 {
			err = failed(files.NotRegular, from, fmt.Sprintf("it has %d devices, pipes or sockets, which cannot be moved to another file system", left))
		}
		in.CloseWithError(err)
	}()
	result, err := archive.Extract(out, to, archive.Name(from), archive.Options{AnyLinks: true, Git: true, AnyDepth: true})
	out.CloseWithError(err)
	if err == nil && result.Refused.Count > 0 {
		err = failed(files.Failed, from, "some of it cannot be moved to another file system")
	}
	return err
}
