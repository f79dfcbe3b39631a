package main

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// signalAll sends a signal to every process of the sandbox except PID 1. For PID 1 one
// call is enough; in tests init is an ordinary process and walks its descendants.
func signalAll(sig unix.Signal) {
	if os.Getpid() == 1 {
		_ = unix.Kill(-1, sig)
		return
	}
	for _, pid := range descendants(os.Getpid()) {
		_ = unix.Kill(pid, sig)
	}
}

// descendants lists the processes below root by the children files of proc(5).
func descendants(root int) []int {
	var all []int
	tasks, _ := os.ReadDir("/proc/" + strconv.Itoa(root) + "/task")
	for _, task := range tasks {
		data, _ := os.ReadFile("/proc/" + strconv.Itoa(root) + "/task/" + task.Name() + "/children")
		for _, field := range strings.Fields(string(data)) {
			if pid, err := strconv.Atoi(field); err == nil {
				all = append(append(all, pid), descendants(pid)...)
			}
		}
	}
	return all
}
