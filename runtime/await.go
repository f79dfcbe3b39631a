package runtime

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// AwaitEnd waits until p has ended, at most limit. The error says that it has
// not. It does not end anything; see KillProcess.
func (p Process) AwaitEnd(limit time.Duration) error {
	if p.PID <= 0 {
		return nil
	}
	fd, err := unix.PidfdOpen(p.PID, 0)
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("opening process %d: %w", p.PID, err)
	}
	defer unix.Close(fd)
	deadline := time.Now().Add(limit)
	for p.Alive() {
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("process %d still runs after %v", p.PID, limit)
		}
		poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(poll, int(left.Milliseconds())+1); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("waiting for process %d: %w", p.PID, err)
		}
	}
	return nil
}
