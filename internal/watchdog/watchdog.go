// Package watchdog ends a sandbox whose supervisor has died, without the help of anything
// inside the sandbox. PID 1 ends the sandbox when the lifeline breaks, but an agent that is
// root in the sandbox can stop PID 1. The watchdog is a separate process on the host, out
// of the agent's reach: it holds handles of the container's processes (pidfds) and one end
// of a socket, and kills them when the supervisor's end is closed without a release. It
// knows no pids, opens no files and talks to no other process.
package watchdog

import (
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sys/unix"
)

// Command is the word that makes the program serve as a watchdog.
const Command = "watchdog"

// Messages of a supervisor, one byte each. guard comes with the handles.
const (
	guard   = 'g'
	release = 'r'
	guarded = 'G' // the answer to guard
)

// maxHandles is the maximum number of handles of one container.
const maxHandles = 16

const (
	// deathTimeout is how long a killed process may take to be gone.
	deathTimeout = 5 * time.Second
	// grace is how long the rest of a container may take to end by itself after its
	// sandbox: a running container daemon needs that time to remove it.
	grace = 5 * time.Second
)

// Serve waits on a socket for the supervisor's messages or its death. It returns when the
// container was released, or was ended after the supervisor's death.
func Serve(socket int) error { return serve(socket, grace) }

func serve(socket int, grace time.Duration) error {
	end := func(container []int) error { return end(container, grace) }
	var container []int
	for {
		what, handles, err := receive(socket)
		switch {
		case errors.Is(err, io.EOF):
			return end(container)
		case err != nil:
			return errors.Join(err, end(container))
		case what == release:
			return nil
		case what == guard && container == nil && len(handles) > 0:
			container = handles
			err := unix.Sendmsg(socket, []byte{guarded}, nil, nil, unix.MSG_NOSIGNAL)
			if err != nil && !errors.Is(err, unix.EPIPE) { // EPIPE means the end, which follows
				return errors.Join(err, end(container))
			}
		default:
			return errors.Join(fmt.Errorf("the supervisor sent %q with %d handles", what, len(handles)), end(container))
		}
	}
}

// receive receives one message. The end of the socket is io.EOF.
func receive(socket int) (what byte, handles []int, err error) {
	var data [1]byte
	control := make([]byte, unix.CmsgSpace(4*maxHandles))
	for {
		n, controlled, flags, _, err := unix.Recvmsg(socket, data[:], control, unix.MSG_CMSG_CLOEXEC)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECONNRESET), err == nil && n == 0:
			return 0, nil, io.EOF
		case err != nil:
			return 0, nil, fmt.Errorf("listening to the supervisor: %w", err)
		case flags&unix.MSG_CTRUNC != 0: // the watchdog has no descriptors for all of them
			return 0, nil, errors.New("not all handles from the supervisor arrived")
		}
		messages, err := unix.ParseSocketControlMessage(control[:controlled])
		if err != nil {
			return 0, nil, err
		}
		for i := range messages {
			received, err := unix.ParseUnixRights(&messages[i])
			if err != nil {
				return 0, nil, err
			}
			handles = append(handles, received...)
		}
		return data[0], handles, nil
	}
}

// end kills the first process of the container, which is the sandbox, and then the others
// that have not ended by themselves within grace.
func end(container []int, grace time.Duration) error {
	if len(container) == 0 {
		return nil
	}
	err := kill(container[0], deathTimeout)
	deadline := time.Now().Add(grace)
	for _, handle := range container[1:] {
		if !await(handle, time.Until(deadline)) {
			err = errors.Join(err, kill(handle, deathTimeout))
		}
	}
	return err
}

// kill kills a process and waits until it is gone.
func kill(handle int, limit time.Duration) error {
	if err := unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("killing a process of the sandbox: %w", err)
	}
	if !await(handle, limit) {
		return fmt.Errorf("a process of the sandbox still runs %v after it was killed", limit)
	}
	return nil
}

// await waits for the end of a process, and reports whether it has ended.
func await(handle int, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for {
		left := max(time.Until(deadline), 0)
		poll := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
		n, err := unix.Poll(poll, int(left.Milliseconds()))
		if n > 0 || err != nil && !errors.Is(err, unix.EINTR) {
			return n > 0
		}
		if err == nil && left < time.Millisecond {
			return false
		}
	}
}
