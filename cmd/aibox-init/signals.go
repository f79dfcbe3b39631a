package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// libcSignals are the signals that C libraries reserve for threads. Go does not handle
// them, and their default action ends the process. Linux protects the PID 1 of a namespace
// from that, but gVisor does not.
var libcSignals = []uintptr{32, 33, 34}

// sigaction is the kernel's struct for rt_sigaction(2).
type sigaction struct {
	handler, flags, restorer uintptr
	mask                     uint64
}

const (
	sigDefault = 0
	sigIgnore  = 1
)

func ignoreLibcSignals() { setLibcSignals(sigIgnore) }

// restoreLibcSignals restores the defaults before the agent is executed: ignored signals
// stay ignored across exec.
func restoreLibcSignals() { setLibcSignals(sigDefault) }

func setLibcSignals(handler uintptr) {
	action := sigaction{handler: handler}
	for _, sig := range libcSignals {
		_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, unsafe.Sizeof(action.mask), 0, 0)
	}
}
