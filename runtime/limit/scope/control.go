package scope

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// control is a scope with a sandbox.
type control struct {
	systemd  manager
	unit     string
	events   *events
	watching sync.WaitGroup
	killed   chan struct{} // closed when the kernel or systemd has ended processes for memory
	machine  bool          // they were ended for the memory of the machine; set before killed is closed
}

// OutOfMemory is closed when the kernel or systemd has ended processes of the scope for memory.
func (c *control) OutOfMemory() <-chan struct{} { return c.killed }

// MachineOutOfMemory reports whether something other than the scope's limit ended the
// processes. It is only known once OutOfMemory is closed.
func (c *control) MachineOutOfMemory() bool { return c.machine }

// Close ends the watch and releases the scope, which systemd then removes.
func (c *control) Close() error {
	err := c.events.close()
	c.watching.Wait()
	c.systemd.Close()
	return err
}

// resultTimeout is how long systemd may take to report how a scope ended.
const resultTimeout = 2 * time.Second

// watch waits until the kernel reports that it ended processes for memory, or until the
// scope has ended. After that systemd knows the reason: the kernel's report may come too
// late to be read.
func (c *control) watch() {
	for {
		if c.events.kills() > 0 {
			c.report()
			return
		}
		switch err := c.events.wait(); {
		case errors.Is(err, errEnded):
			if c.events.kills() > 0 || c.endedForMemory() {
				c.report()
			}
			return
		case err != nil:
			return
		}
	}
}

// report reports an end for memory. Neither the kernel's number of kills nor systemd's result
// tells whose memory was used up.
func (c *control) report() {
	c.machine = !c.events.reachedLimit()
	close(c.killed)
}

// endedForMemory reports whether systemd says that the scope has ended for memory.
func (c *control) endedForMemory() bool {
	ctx, cancel := context.WithTimeout(context.Background(), resultTimeout)
	defer cancel()
	result, err := c.systemd.GetUnitTypePropertyContext(ctx, c.unit, "Scope", "Result")
	return err == nil && result.Value.Value() == "oom-kill"
}

// events are the events of a cgroup, which the kernel reports through inotify: those of its
// memory (memory.events), and the end of its last process (cgroup.events). The kernel reports no
// removal of a cgroup, or not always.
type events struct {
	memory, processes string // the files
	notify            *os.File
}

// errEnded reports that no process is in the cgroup, or that the cgroup is gone.
var errEnded = errors.New("the cgroup's processes have ended")

func watchEvents(dir string) (*events, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	e := &events{memory: filepath.Join(dir, "memory.events"), processes: filepath.Join(dir, "cgroup.events"), notify: os.NewFile(uintptr(fd), "inotify")}
	for _, file := range []string{e.memory, e.processes} {
		if _, err := unix.InotifyAddWatch(fd, file, unix.IN_MODIFY|unix.IN_DELETE_SELF); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	return e, nil
}

// kills returns how many processes the kernel has ended for memory; 0 if unknown.
func (e *events) kills() int64 {
	n, _ := readField(e.memory, "oom_kill")
	return n
}

// reachedLimit reports whether the cgroup was at its memory limit, which the kernel counts before
// it ends a process for that. The limit is the likely cause if the cgroup is gone.
func (e *events) reachedLimit() bool {
	n, err := readField(e.memory, "oom")
	return err != nil || n > 0
}

// wait waits for the next event.
func (e *events) wait() error {
	buffer := make([]byte, 4096)
	if _, err := e.notify.Read(buffer); err != nil {
		return err
	}
	if n, err := readField(e.processes, "populated"); err != nil || n == 0 {
		return errEnded
	}
	return nil
}

func (e *events) close() error { return e.notify.Close() }
