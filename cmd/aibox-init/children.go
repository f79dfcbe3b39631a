package main

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// refuseChildren makes every system call fail that starts another process. It applies to
// this process, which can still start threads. It locks the calling goroutine to its
// thread, which must execute the program.
//
// clone3 has its flags in memory, where a filter cannot read them. It fails with ENOSYS, so
// that the C library uses clone.
func refuseChildren() error {
	runtime.LockOSThread()
	const (
		// Offsets in struct seccomp_data; flags is the lower half of the first argument.
		number, arch, flags = 0, 4, 16

		firstForeign = 0x40000000 // the first system call of another ABI, such as x32
	)
	refuse := func(errno syscall.Errno) unix.SockFilter {
		return unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
	}
	filter := []unix.SockFilter{
		{Code: load, K: arch},
		{Code: equal, K: auditArch, Jt: 1},
		refuse(syscall.EPERM),
		{Code: load, K: number},
		{Code: greater, K: firstForeign - 1, Jf: 1},
		refuse(syscall.EPERM),
		{Code: equal, K: unix.SYS_CLONE3, Jf: 1},
		refuse(syscall.ENOSYS),
	}
	for _, fork := range forks {
		filter = append(filter, unix.SockFilter{Code: equal, K: fork, Jf: 1}, refuse(syscall.EPERM))
	}
	filter = append(filter,
		unix.SockFilter{Code: equal, K: unix.SYS_CLONE, Jf: 3},
		unix.SockFilter{Code: load, K: flags},
		unix.SockFilter{Code: has, K: unix.CLONE_THREAD, Jt: 1},
		refuse(syscall.EPERM),
		unix.SockFilter{Code: give, K: unix.SECCOMP_RET_ALLOW},
	)
	return installFilter(filter)
}
