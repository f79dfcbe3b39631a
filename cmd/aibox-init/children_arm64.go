package main

import "golang.org/x/sys/unix"

// auditArch is the ABI of this processor, as filters of system calls see it.
const auditArch = unix.AUDIT_ARCH_AARCH64

// forks are the system calls besides clone that start a process.
var forks []uint32
