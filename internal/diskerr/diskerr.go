// Package diskerr recognizes the errors of a disk that takes nothing more: by their
// number, by the words of the C library and of git, and where a program that failed does
// not say why, by the room that is left. It changes nothing.
package diskerr

import (
	"errors"
	"strings"
	"syscall"

	"aibox/internal/command"
	"aibox/internal/fault"

	"golang.org/x/sys/unix"
)

// reason is why a disk takes nothing. All of them end when the user has done something
// about it.
type reason struct {
	errno syscall.Errno
	words string // about "the disk of FOLDER"
	hint  string // with FOLDER in it, too
}

var reasons = []reason{
	{syscall.ENOSPC, "is full", "free some space: `df -h FOLDER` shows how much is left"},
	{syscall.EDQUOT, "is full for you: your quota is used up", "free some space: `quota -s` shows your quota"},
	{syscall.EROFS, "is read-only", "`findmnt -T FOLDER` shows how it is mounted; the kernel makes a disk read-only after an error"},
}

// gitFull is what git says when the disk takes a part of what it writes.
const gitFull = "out of diskspace"

// noRoom is so little free space, in bytes, that a program that failed without saying why
// failed for that.
const noRoom = 64 << 10

// refused is an error with its reason.
type refused struct {
	error
	reason *reason
}

func (r refused) Unwrap() error { return r.error }

// Is reports whether err says that a disk is full or read-only, or that a quota is used
// up.
func Is(err error) bool { return find(err) != nil }

// Explain adds to an error of that kind which disk it concerns, the one of folder, and
// what to do. It returns any other error, nil, and an explained one unchanged.
func Explain(err error, folder string) error {
	if _, said := errors.AsType[refused](err); err == nil || said {
		return err
	}
	r := find(err)
	if _, program := errors.AsType[*command.Error](err); r == nil && program && withoutRoom(folder) {
		r = &reasons[0]
	}
	if r == nil {
		return err
	}
	return fault.New(fault.Environment, "the disk of %s %s: %w", folder, r.words, refused{err, r}).
		Hint("%s", strings.ReplaceAll(r.hint, "FOLDER", folder))
}

// find returns the reason in err, or nil.
func find(err error) *reason {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[refused](err); ok {
		return known.reason
	}
	text := strings.ToLower(err.Error())
	for i, r := range reasons {
		if errors.Is(err, r.errno) || strings.Contains(text, r.errno.Error()) {
			return &reasons[i]
		}
	}
	if strings.Contains(text, gitFull) {
		return &reasons[0]
	}
	return nil
}

func withoutRoom(folder string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(folder, &fs) == nil && int64(fs.Bavail)*fs.Bsize < noRoom
}
