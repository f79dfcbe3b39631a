package run

import (
	"strings"
	"time"

	"aibox/internal/fault"
)

// maxVerify bounds a verifying command in bytes.
const maxVerify = 64 << 10

// CheckVerification refuses a verifying command that cannot be run, and returns it
// without surrounding blanks. Without a command the timeout is 0.
func CheckVerification(command string, timeout time.Duration) (string, time.Duration, error) {
	command = strings.TrimSpace(command)
	switch {
	case len(command) > maxVerify:
		return "", 0, fault.New(fault.Usage, "the command of --verify is longer than %d KiB", maxVerify>>10).
			Hint("put it into a script of the repository and name that")
	case strings.ContainsRune(command, 0):
		return "", 0, fault.New(fault.Usage, "the command of --verify contains a NUL byte")
	case timeout < 0:
		return "", 0, fault.New(fault.Usage, "--verify-timeout cannot be negative").Hint("0 means no limit")
	case command == "":
		return "", 0, nil
	}
	return command, timeout, nil
}
