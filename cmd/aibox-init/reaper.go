package main

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reaper waits for every child, including the orphans that PID 1 inherits. Nothing else
// waits: os/exec, which does, is not used.
type reaper struct {
	forks   sync.RWMutex // held for writing while no process may be started
	mu      sync.Mutex
	waiting map[int]chan unix.WaitStatus
	poked   chan struct{}
}

func newReaper() *reaper {
	return &reaper{waiting: map[int]chan unix.WaitStatus{}, poked: make(chan struct{}, 1)}
}

// run reaps whenever a signal arrives. It ignores all signals, since they come from inside
// the sandbox.
func (r *reaper) run(signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
		case <-r.poked:
		}
		r.collect()
	}
}

// collect reaps dead children and reports whether no child is left.
func (r *reaper) collect() (none bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG|unix.WALL, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return true // ECHILD
		case pid == 0:
			return false
		}
		if ch, ok := r.waiting[pid]; ok {
			delete(r.waiting, pid)
			ch <- status
		}
	}
}

// start starts a program and returns its pid and a channel that receives its status. The
// lock keeps the reaper from collecting the child before the channel is registered.
func (r *reaper) start(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan unix.WaitStatus, error) {
	r.forks.RLock()
	defer r.forks.RUnlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := syscall.ForkExec(path, argv, attr)
	if err != nil {
		return 0, nil, err
	}
	ch := make(chan unix.WaitStatus, 1)
	r.waiting[pid] = ch
	return pid, ch, nil
}

// killAll ends every other process of the sandbox: with SIGTERM if grace is positive,
// then with SIGKILL until none is left. Every process of the sandbox descends from PID 1,
// so "no child" means "no process". It returns false if some are still alive after limit.
func (r *reaper) killAll(grace, limit time.Duration) bool {
	if grace > 0 {
		signalAll(unix.SIGTERM)
		signalAll(unix.SIGCONT) // a stopped process cannot end itself
		if r.waitNone(grace, nil) {
			return true
		}
	}
	return r.waitNone(limit, func() { signalAll(unix.SIGKILL) })
}

// waitNone polls until no child is left or limit has passed, and calls each before every
// check. It polls because a process can fork between two signals.
func (r *reaper) waitNone(limit time.Duration, each func()) bool {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		if each != nil {
			each()
		}
		if r.collect() {
			return true
		}
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(pause)
	}
}
