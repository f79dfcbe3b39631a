// Package fileserver does the operations of package files. It runs inside a sandbox, as the
// user of the operations: the sandbox's kernel decides what it may do, and resolves
// symlinks. It opens no device, pipe or socket.
package fileserver

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"aibox/internal/files"
)

// Patterns of the names of files that are being written, for os.CreateTemp.
const (
	partPrefix = ".aibox-"
	newSuffix  = ".new"
	partSuffix = ".part"

	newPattern  = partPrefix + "*" + newSuffix  // of a new file
	partPattern = partPrefix + "*" + partSuffix // of others
)

// Server does operations. It is safe for concurrent use.
type Server struct {
	// Home is the folder of relative paths.
	Home string
	// Names returns the current names of users and groups.
	Names func() Names
}

// Names are the names of users and groups. Both may be nil.
type Names struct {
	Users, Groups map[uint32]string
}

// Serve answers the requests of a connection until it ends.
func (s *Server) Serve(conn net.Conn) { _ = files.Serve(conn, s.do) }

// do does one operation.
func (s *Server) do(ctx context.Context, x *files.Exchange) (files.Answer, error) {
	q := x.Request
	path := s.absolute(q.Path)
	switch q.Op {
	case files.OpStat:
		return s.stat(path, q.Follow)
	case files.OpList:
		return s.list(path, options(q.List))
	case files.OpMake:
		return s.makeFolder(path, options(q.Make))
	case files.OpMove:
		return s.move(path, s.absolute(q.To), q.Replace)
	case files.OpRemove:
		return files.Answer{}, remove(path, q.Deep)
	case files.OpRead:
		return files.Answer{}, s.read(path, options(q.Range), x)
	case files.OpWrite:
		return s.write(path, options(q.Write), x.Input())
	case files.OpWatch:
		return files.Answer{}, watch(ctx, path, q.Deep, x)
	default:
		return files.Answer{}, &files.Error{Code: files.Invalid, Message: "there is no such operation"}
	}
}

// options returns what o points to, or the defaults.
func options[T any](o *T) (zero T) {
	if o != nil {
		return *o
	}
	return zero
}

// absolute returns the absolute path. It does not clean the path: if a is a symlink, "a/.."
// is not the folder of a.
func (s *Server) absolute(path files.Path) string {
	text := string(path)
	if !strings.HasPrefix(text, "/") {
		text = strings.TrimSuffix(s.Home, "/") + "/" + text
	}
	for len(text) > 1 && strings.HasSuffix(text, "/") {
		text = text[:len(text)-1]
	}
	return text
}

// dirOf returns the folder of an absolute path. Unlike filepath.Dir, it does not clean the path.
func dirOf(path string) string {
	return cmp.Or(path[:strings.LastIndex(path, "/")], "/")
}

// failed returns an error with a code that the kernel does not have.
func failed(code files.Code, path, message string) error {
	return &files.Error{Code: code, Path: files.Path(path), Message: message}
}

func (s *Server) stat(path string, follow bool) (files.Answer, error) {
	entry, err := s.entry(path, follow)
	if err != nil {
		return files.Answer{}, err
	}
	return files.Answer{Entry: &entry}, nil
}

// entry describes the file at path.
func (s *Server) entry(path string, follow bool) (files.Entry, error) {
	stat, err := statFile(path, follow)
	if err != nil {
		return files.Entry{}, err
	}
	e := describe(path, stat, s.Names())
	if e.Kind == files.Symlink {
		target, err := os.Readlink(path)
		if err != nil {
			return files.Entry{}, err
		}
		e.Target = files.Path(target)
	}
	return e, nil
}

// statFile describes the file at path, or the target of a symlink there.
func statFile(path string, follow bool) (*unix.Stat_t, error) {
	var stat unix.Stat_t
	flags := 0
	if !follow {
		flags = unix.AT_SYMLINK_NOFOLLOW
	}
	if err := unix.Fstatat(unix.AT_FDCWD, path, &stat, flags); err != nil {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return &stat, nil
}

// describe returns the entry of a file, without the target of a symlink.
func describe(path string, stat *unix.Stat_t, names Names) files.Entry {
	return files.Entry{
		Path: files.Path(path), Kind: kindOf(stat.Mode), Size: stat.Size,
		Mode: stat.Mode & 0o7777, UID: stat.Uid, GID: stat.Gid, Owner: names.Users[stat.Uid], Group: names.Groups[stat.Gid],
		Modified: time.Unix(stat.Mtim.Unix()).UTC(),
	}
}

func kindOf(mode uint32) files.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return files.Regular
	case unix.S_IFDIR:
		return files.Folder
	case unix.S_IFLNK:
		return files.Symlink
	default:
		return files.Special
	}
}

// setMode sets the permission bits of a file. os.Chmod represents set-uid, set-gid and sticky
// by other bits.
func setMode(path string, mode uint32) error {
	if err := unix.Chmod(path, mode); err != nil {
		return &fs.PathError{Op: "chmod", Path: path, Err: err}
	}
	return nil
}

func (s *Server) makeFolder(path string, o files.MakeOptions) (files.Answer, error) {
	if o.Mode == 0 {
		o.Mode = 0o755
	}
	if o.Parents {
		if err := os.MkdirAll(dirOf(path), 0o755); err != nil { //nolint:gosec // the usual mode of folders
			return files.Answer{}, err
		}
	}
	err := os.Mkdir(path, 0o700)
	if o.Parents && errors.Is(err, fs.ErrExist) {
		if info, statErr := os.Stat(path); statErr == nil && info.IsDir() {
			return s.stat(path, true)
		}
	}
	if err != nil {
		return files.Answer{}, err
	}
	if err := setMode(path, o.Mode); err != nil {
		return files.Answer{}, err
	}
	return s.stat(path, false)
}

// remove removes a file or an empty folder; with deep also a folder that is not empty.
func remove(path string, deep bool) error {
	stat, err := statFile(path, false)
	switch {
	case err != nil:
		return err
	case filepath.Clean(path) == "/":
		return failed(files.Invalid, path, "the root folder cannot be removed")
	case kindOf(stat.Mode) == files.Folder && deep:
		return os.RemoveAll(path)
	case kindOf(stat.Mode) == files.Folder:
		err = unix.Rmdir(path)
	default:
		err = unix.Unlink(path)
	}
	if err != nil {
		return &fs.PathError{Op: "remove", Path: path, Err: err}
	}
	return nil
}
