package main

import (
	"fmt"
	"math"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Instructions of filters of system calls (seccomp(2)).
const (
	load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
	equal   = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
	greater = unix.BPF_JMP | unix.BPF_JGT | unix.BPF_K
	has     = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
	give    = unix.BPF_RET | unix.BPF_K
)

// refusePositionalWrites makes pwrite, pwritev and pwritev2 fail with ESPIPE on descriptors
// 0 to 2, for this process and its descendants. It locks the calling goroutine to its
// thread, which must execute the agent.
//
// Positional writes to a terminal fail with ESPIPE on Linux, but with EINVAL under gVisor.
// Programs that try a positional write first and fall back to a plain one on ESPIPE, such
// as those with Zig's standard library, treat EINVAL as a broken terminal and draw nothing.
// OpenCode is one of them. The filter also applies if standard output is a file, which a
// program then has to write in order, like a pipe.
func refusePositionalWrites() error {
	runtime.LockOSThread()
	const (
		// Offsets in struct seccomp_data (seccomp(2)). For arguments they are those of the
		// lower halves.
		number, descriptor, position = 0, 16, 40
	)
	filter := []unix.SockFilter{
		{Code: load, K: number},
		{Code: equal, K: unix.SYS_PWRITE64, Jt: 4},
		{Code: equal, K: unix.SYS_PWRITEV, Jt: 3},
		{Code: equal, K: unix.SYS_PWRITEV2, Jf: 5},
		{Code: load, K: position}, // -1 means a plain write
		{Code: equal, K: math.MaxUint32, Jt: 3},
		{Code: load, K: descriptor},
		{Code: greater, K: 2, Jt: 1},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(syscall.ESPIPE)},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
	}
	return installFilter(filter)
}

// installFilter installs a filter of system calls for this thread and its descendants.
func installFilter(filter []unix.SockFilter) error {
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("giving up new privileges: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0); err != nil {
		return fmt.Errorf("filtering system calls: %w", err)
	}
	return nil
}
