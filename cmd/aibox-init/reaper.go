package main

import (
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reaper collects every child, ours and the orphans that fall to PID 1. It is
// the only place that waits; os/exec, which waits too, is not used.
type reaper struct {
	mu      sync.Mutex
	waiting map[int]chan unix.WaitStatus
	poked   chan struct{}
}

func newReaper() *reaper {
	return &reaper{waiting: map[int]chan unix.WaitStatus{}, poked: make(chan struct{}, 1)}
}

// run reaps whenever a signal arrives. All other signals are swallowed: they
// come from inside the box.
func (r *reaper) run(signals <-chan os.Signal) {
	for {
		select {
		case <-signals:
		case <-r.poked:
		}
		r.collect()
	}
}

// collect reaps what is dead and reports whether no child is left at all.
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

// start starts a program and returns its pid and the channel its status comes
// on. The lock keeps the reaper from collecting a child that is not waited for yet.
func (r *reaper) start(path string, argv []string, attr *syscall.ProcAttr) (int, <-chan unix.WaitStatus, error) {
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

// killAll ends every other process of the box: SIGTERM first when grace is over
// zero, then SIGKILL until none is left. Every process of the box descends from
// PID 1, so "no child" means "no process". It returns false when some would not die
// within limit.
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

// waitNone polls until no child is left or limit is over, calling each before
// every look. Polling, since a fork may slip between two signals.
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
