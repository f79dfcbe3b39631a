package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// libcSignals are the ones C libraries keep for threads. Go leaves them alone,
// so they would have their default action, which ends the process: Linux shields
// the PID 1 of a namespace from that, gVisor does not.
var libcSignals = []uintptr{32, 33, 34}

// sigaction is the kernel's struct, as rt_sigaction(2) takes it.
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

const (
	sigDefault = 0
	sigIgnore  = 1
)

func ignoreLibcSignals() { setLibcSignals(sigIgnore) }

// restoreLibcSignals undoes it before the agent is executed: what is ignored
// stays ignored across exec.
func restoreLibcSignals() { setLibcSignals(sigDefault) }

func setLibcSignals(handler uintptr) {
	action := sigaction{handler: handler}
	for _, sig := range libcSignals {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	}
}
