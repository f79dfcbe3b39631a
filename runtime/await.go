package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// AwaitEnd waits at most limit until p has ended. It returns an error if p has not. It does
// not end p; see KillProcess.
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

// AwaitEndOr waits until p has ended, or until ctx ends; then it returns the error of ctx.
// It does not block a thread.
func (p Process) AwaitEndOr(ctx context.Context) error {
	fd, err := p.Open()
	if errors.Is(err, ErrGone) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil { // so that Go's poller accepts it
		return errors.Join(err, unix.Close(fd))
	}
	handle := os.NewFile(uintptr(fd), "pidfd")
	defer handle.Close()
	conn, err := handle.SyscallConn()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = handle.SetReadDeadline(time.Now()) })
	defer stop()
	err = conn.Read(func(uintptr) bool { return !p.Alive() })
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
