package process

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"aibox/runtime/limit"
)

// boundTasks lets the sandbox have that many processes and threads on the host; 0 means no limit.
// The kernel counts them for each user namespace (getrlimit(2), RLIMIT_NPROC), and runsc makes
// one for each sandbox. Raising the limit again would need a capability of the whole machine. New
// processes inherit it, so boundTasks repeats until it finds none without it.
func boundTasks(ctx context.Context, s limit.Sandbox, most int) error {
	if most == 0 {
		return nil
	}
	for range rounds {
		if err := ctx.Err(); err != nil {
			return err
		}
		pids, err := s.Processes()
		if err != nil {
			return err
		}
		changed := false
		for _, pid := range pids {
			more, err := boundTasksOf(pid, uint64(most))
			if err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
			changed = changed || more
		}
		if !changed {
			return nil
		}
	}
	return errors.New("the sandbox starts processes faster than they can be limited")
}

// boundTasksOf sets the limit of a process, and reports whether it was higher.
func boundTasksOf(pid int, most uint64) (changed bool, err error) {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, nil, &now); err != nil || now.Max <= most {
		return false, err
	}
	return true, unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: min(now.Cur, most), Max: most}, nil)
}
