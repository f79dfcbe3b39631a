package diskerr

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

// noPermission is git's own message for an object database that it cannot write.
const noPermission = "insufficient permission"

// KindOf distinguishes a disk error from objects that git rejects, by the C library's
// messages that git repeats, and by git's own.
func KindOf(message string) fault.Kind {
	for _, errno := range []syscall.Errno{unix.EACCES, unix.EIO} {
		if strings.Contains(strings.ToLower(message), errno.Error()) {
			return fault.Environment
		}
	}
	if strings.Contains(strings.ToLower(message), noPermission) {
		return fault.Environment
	}
	return fault.Refused
}
