package watchdog

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// answerTimeout is the time limit for a watchdog's answer to Guard.
const answerTimeout = 10 * time.Second

// Watchdog is a watchdog's process, seen by the supervisor that started it. Its
// methods are not safe for concurrent use, except Died and PID.
type Watchdog struct {
	cmd    *exec.Cmd
	socket int
	died   chan struct{}
}

// Start starts a watchdog from program, which calls Serve when its first argument is
// Command. name is shown in the list of processes. Errors of the watchdog are written to
// log.
func Start(program, name string, log *os.File) (*Watchdog, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("making the watchdog's socket: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "watchdog")
	defer theirs.Close()
	// The watchdog outlives this process, however that ends.
	cmd := exec.Command(program, Command, name) //nolint:noctx // see above
	cmd.Dir, cmd.Env = "/", []string{"GOMAXPROCS=1"}
	cmd.Stdin, cmd.Stderr = theirs, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // signals to the supervisor's group do not reach it
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the watchdog: %w", err), unix.Close(pair[0]))
	}
	w := &Watchdog{cmd: cmd, socket: pair[0], died: make(chan struct{})}
	go func() { defer close(w.died); _ = cmd.Wait() }()
	return w, nil
}

// PID returns the watchdog's pid.
func (w *Watchdog) PID() int { return w.cmd.Process.Pid }

// Died is closed when the watchdog's process has ended.
func (w *Watchdog) Died() <-chan struct{} { return w.died }

// Guard makes the watchdog guard a container, given the pidfds of its sandbox process and
// of its other processes. The caller still has to close them. Once Guard returns without an
// error, the container ends with this process.
func (w *Watchdog) Guard(sandbox int, others ...int) error {
	handles := append([]int{sandbox}, others...)
	if len(handles) > maxHandles {
		return fmt.Errorf("a sandbox with %d processes", len(handles))
	}
	if err := unix.Sendmsg(w.socket, []byte{guard}, unix.UnixRights(handles...), nil, unix.MSG_NOSIGNAL); err != nil {
		return fmt.Errorf("passing the sandbox to the watchdog: %w", err)
	}
	if err := w.answered(); err != nil {
		return fmt.Errorf("waiting for the watchdog to guard the sandbox: %w", err)
	}
	return nil
}

func (w *Watchdog) answered() error {
	deadline := time.Now().Add(answerTimeout)
	for {
		poll := []unix.PollFd{{Fd: int32(w.socket), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, int(max(time.Until(deadline), 0).Milliseconds()))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case n == 0:
			return fmt.Errorf("it says nothing for %v", answerTimeout)
		}
		what, _, err := receive(w.socket)
		if err == nil && what != guarded {
			err = fmt.Errorf("it answers %q", what)
		}
		return err
	}
}

// releaseTimeout is how long a watchdog may take to end by itself.
const releaseTimeout = 2 * time.Second

// Release ends the watchdog, whose container is gone, and waits for its end. It is called
// once.
func (w *Watchdog) Release() error {
	err := unix.Sendmsg(w.socket, []byte{release}, nil, nil, unix.MSG_NOSIGNAL)
	if errors.Is(err, unix.EPIPE) {
		err = nil // it has died before
	}
	err = errors.Join(err, unix.Close(w.socket))
	select {
	case <-w.died:
	case <-time.After(releaseTimeout): // it was stopped
		err = errors.Join(err, w.cmd.Process.Kill())
		<-w.died
	}
	return err
}
