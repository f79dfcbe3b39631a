package supervisor

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/watchdog"
	"aibox/runtime"
	"aibox/session"
)

// A session's watchdog is a second process on the host, which ends the sandbox when the
// supervisor dies. PID 1 of the sandbox does that as well, unless the agent has stopped
// it. The supervisor in turn ends the session when the watchdog dies.

// startWatchdog starts the session's watchdog, which is the same program as PID 1 in
// sandboxes.
func (s *sandbox) startWatchdog(program string) (*watchdog.Watchdog, error) {
	dog, err := watchdog.Start(program, string(s.id), os.Stderr)
	if err != nil {
		return nil, err
	}
	process, err := runtime.FindProcess(dog.PID())
	if err == nil {
		err = s.save(func(st *session.State) { st.Watchdog = process })
	}
	if err != nil {
		return nil, errors.Join(err, dog.Release())
	}
	return dog, nil
}

// guardSandbox assigns a sandbox to the watchdog. No agent may run in it before that.
func (s *sandbox) guardSandbox(container string, sandbox runtime.Process, watched func() (*watchdog.Watchdog, error)) error {
	dog, err := watched()
	if err != nil {
		return err
	}
	others, err := runtime.Belonging(container)
	if err != nil {
		return fmt.Errorf("finding the processes of the sandbox: %w", err)
	}
	handles := make([]int, 0, 1+len(others))
	defer func() {
		for _, handle := range handles {
			_ = unix.Close(handle)
		}
	}()
	for _, p := range append([]runtime.Process{sandbox}, others...) {
		handle, err := p.Open()
		switch {
		case errors.Is(err, runtime.ErrGone) && p != sandbox:
			continue // an ended helper of the runtime
		case errors.Is(err, runtime.ErrGone):
			return fault.New(fault.Environment, "the sandbox ended as soon as it was started").Hint("`aibox doctor` checks Docker and runsc")
		case err != nil:
			return err
		}
		handles = append(handles, handle)
	}
	if err := dog.Guard(handles[0], handles[1:]...); err != nil {
		return err
	}
	s.mu.Lock()
	s.watchdog = dog
	s.mu.Unlock()
	return nil
}

// releaseWatchdog ends the watchdog of a failed start.
func (s *sandbox) releaseWatchdog(watched func() (*watchdog.Watchdog, error)) error {
	dog, err := watched()
	if err != nil {
		return nil //nolint:nilerr // reported already, and there is no watchdog
	}
	return dog.Release()
}
