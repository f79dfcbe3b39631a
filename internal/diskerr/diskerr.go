// Package diskerr recognizes errors of a full or read-only disk: by their number, by the
// messages of the C library and of git, and by the free space, if a failed program reports
// no reason. It changes nothing.
package diskerr

import (
	"errors"
	"strings"
	"syscall"

	"aibox/internal/command"
	"aibox/internal/diskuse"
	"aibox/internal/fault"
)

// reason is a reason why writing to a disk fails. The user can fix each of them.
type reason struct {
	errno syscall.Errno
	words string // a sentence about "the disk of FOLDER"
	hint  string // also contains FOLDER
}

var reasons = []reason{
	{syscall.ENOSPC, "is full", "free some space: `df -h FOLDER` shows how much is left"},
	{syscall.EDQUOT, "is full for you: your quota is used up", "free some space: `quota -s` shows your quota"},
	{syscall.EROFS, "is read-only", "`findmnt -T FOLDER` shows how it is mounted; the kernel makes a disk read-only after an error"},
}

// gitFull is git's message after a short write.
const gitFull = "out of diskspace"

// noRoom is the free space, in bytes, below which a failure without a message counts as a
// full disk.
const noRoom = 64 << 10

// refused is an error with a reason.
type refused struct {
	error
	reason *reason
}

func (r refused) Unwrap() error { return r.error }

// Is reports whether err means that a disk is full or read-only, or that a quota is used up.
func Is(err error) bool { return find(err) != nil }

// Explain adds to such an error the name of the disk, which is that of folder, and a hint. It
// returns nil, other errors and explained ones unchanged.
func Explain(err error, folder string) error {
	if _, said := errors.AsType[refused](err); err == nil || said {
		return err
	}
	r := find(err)
	if _, program := errors.AsType[*command.Error](err); r == nil && program && WithoutRoom(folder) {
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
	text := strings.ToLower(ours(err.Error()))
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

// ours is the text of an error without what git repeats of a server, whose disk it may be about.
func ours(text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		for _, mark := range []string{"remote: ", "remote error: "} {
			if before, _, server := strings.Cut(line, mark); server && (before == "" || strings.HasSuffix(before, ": ")) {
				line = before
			}
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}

// WithoutRoom reports whether the disk of a folder has so little space that a failure to write to it
// without a reason counts as a full disk.
func WithoutRoom(folder string) bool {
	free, err := diskuse.Free(folder)
	return err == nil && free < noRoom
}
