package diskerr

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
)

// KindOf tells a disk that takes nothing from objects that git refuses, by the
// words of the C library that git repeats.
func KindOf(message string) fault.Kind {
	for _, errno := range []syscall.Errno{unix.EACCES, unix.EIO} {
		if strings.Contains(strings.ToLower(message), errno.Error()) {
			return fault.Environment
		}
	}
	return fault.Refused
}
