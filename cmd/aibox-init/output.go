package main

import (
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// output is our end of a program's output. Read belongs to one goroutine; the other methods
// are safe for concurrent use.
//
// While Go's poller watches a pipe, each write of the program wakes init, even if nothing
// waits for the output. Under gVisor that costs more than the write itself. So init stops
// watching the pipe of a program that prints much: see unwatch.
type output struct {
	pipe bool // otherwise it is a terminal, which is always watched

	mu       sync.Mutex
	file     *os.File // nil while it is not watched
	fd       int      // the pipe while it is not watched; it is in non-blocking mode
	deadline time.Time
	closed   bool
}

// Read waits for output. It watches the pipe again if there is none.
func (o *output) Read(p []byte) (int, error) {
	if n, ok := o.readUnwatched(p); ok {
		return n, nil
	}
	file, err := o.watch()
	if err != nil {
		return 0, err
	}
	return file.Read(p)
}

// readUnwatched reads output of a pipe that is not watched. It returns false at the end of the
// output, if there is none yet, and if the pipe is watched.
func (o *output) readUnwatched(p []byte) (int, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil || o.closed {
		return 0, false
	}
	n, err := unix.Read(o.fd, p)
	return n, err == nil && n > 0
}

// watch returns the watched file.
func (o *output) watch() (*os.File, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.closed:
		return nil, os.ErrClosed
	case o.file == nil:
		o.file = os.NewFile(uintptr(o.fd), "output")
		if err := o.file.SetReadDeadline(o.deadline); err != nil {
			return nil, err
		}
	}
	return o.file, nil
}

// unwatch stops watching a pipe until the next Read that finds no output. Read must not run at
// the same time.
func (o *output) unwatch() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.pipe || o.file == nil || o.closed {
		return
	}
	raw, err := o.file.SyscallConn()
	if err != nil {
		return
	}
	fd := -1
	_ = raw.Control(func(watched uintptr) {
		fd, _ = unix.FcntlInt(watched, unix.F_DUPFD_CLOEXEC, 0)
	})
	if fd < 0 {
		return // it stays watched, which works, too
	}
	_ = o.file.Close() // the poller watches only this descriptor
	o.file, o.fd = nil, fd
}

// SetReadDeadline sets the time at which a Read that waits for output fails.
func (o *output) SetReadDeadline(t time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deadline = t
	if o.file == nil {
		return nil
	}
	return o.file.SetReadDeadline(t)
}

// Close closes our end.
func (o *output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return os.ErrClosed
	}
	o.closed = true
	if o.file == nil {
		return unix.Close(o.fd)
	}
	return o.file.Close()
}
