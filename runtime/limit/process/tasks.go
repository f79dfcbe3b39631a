package process

import "golang.org/x/sys/unix"

// boundTasks lets a process's sandbox have that many processes and threads on the host, and reports
// whether the limit was higher; 0 means no limit. The kernel counts them for each user namespace
// (getrlimit(2), RLIMIT_NPROC), and runsc makes one for each sandbox. New processes inherit the limit.
// Raising it again would need a capability of the whole machine.
func boundTasks(pid int, most uint64) (changed bool, err error) {
	if most == 0 {
		return false, nil
	}
	var now unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NPROC, nil, &now); err != nil || now.Max <= most {
		return false, err
	}
	return true, unix.Prlimit(pid, unix.RLIMIT_NPROC, &unix.Rlimit{Cur: min(now.Cur, most), Max: most}, nil)
}
