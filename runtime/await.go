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

// EndProcess kills p and waits until it has ended. It returns an error if p does nothing for
// stuckTimeout.
func EndProcess(p Process) error {
	if err := KillProcess(p); err != nil {
		return err
	}
	return p.awaitKilled(stuckTimeout)
}

// stuckTimeout is how long a killed process may do nothing before it counts as one that cannot end,
// because a call of the kernel hangs. The last acts of thousands of threads that run only when
// nothing else needs the processors take a while on a busy machine.
const stuckTimeout = 10 * time.Second

// awaitKilled waits until p, which was killed, has ended, or does nothing for stuck.
func (p Process) awaitKilled(stuck time.Duration) error {
	return awaitProgress(p.work, func() error { return p.AwaitEnd(stuck) })
}

// awaitProgress calls await until it returns nil, or until the work was the same before and after.
func awaitProgress(work func() string, await func() error) error {
	for {
		before := work()
		if err := await(); err == nil || work() == before {
			return err
		}
	}
}

// work returns what changes while p runs or ends: its processor time and the number of its threads.
// It is empty if p has ended.
func (p Process) work() string {
	fields, err := stat(p.PID)
	if err != nil {
		return ""
	}
	const user, system, threads = 11, 12, 17 // fields 14, 15 and 20 of /proc/PID/stat
	return fields[user] + " " + fields[system] + " " + fields[threads]
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
