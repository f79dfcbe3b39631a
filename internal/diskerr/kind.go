package diskerr

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

// KindOf distinguishes a disk error from objects that git rejects, by the C library's
// messages that git repeats.
func KindOf(message string) fault.Kind {
	for _, errno := range []syscall.Errno{unix.EACCES, unix.EIO} {
		if strings.Contains(strings.ToLower(message), errno.Error()) {
			return fault.Environment
		}
	}
	return fault.Refused
}
