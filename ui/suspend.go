package ui

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
)

// job holds the sessions and process groups of this process and of its parent.
type job struct{ session, group, parentSession, parentGroup int }

// controlled reports whether the parent is a shell that notices when this process stops. In an
// orphaned process group, as of a terminal that runs aibox in place of a shell, the kernel does
// not stop a process at all, and in a group that the parent shares, the parent stops as well.
func (j job) controlled() bool { return j.session == j.parentSession && j.group != j.parentGroup }

// currentJob reads the job of this process; the zero value, which is not controlled, if its parent
// has gone.
func currentJob() job {
	session, err1 := unix.Getsid(0)
	parentSession, err2 := unix.Getsid(os.Getppid())
	parentGroup, err3 := unix.Getpgid(os.Getppid())
	if err1 != nil || err2 != nil || err3 != nil {
		return job{}
	}
	return job{session, unix.Getpgrp(), parentSession, parentGroup}
}

// The messages of a suspension.
type (
	noShell struct{}            // nothing could continue this process
	resumed struct{ err error } // the terminal is the UI's again
)

// suspend stops this process, and gives the terminal to the shell until the shell continues it.
func (a *app) suspend() tea.Cmd {
	return a.hand(func() tea.Msg {
		if !a.job().controlled() {
			return noShell{}
		}
		return a.release(stop, func(err error) tea.Msg { return resumed{err} })()
	})
}

// stopTime is many times longer than the kernel needs to stop a process.
const stopTime = time.Second

// stop stops the process group, as the terminal does for a program without a screen, until it is
// continued. It returns after stopTime if the signal is ignored. The library's own tea.Suspend
// would wait forever then.
func stop(ctx context.Context) error {
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	if err := unix.Kill(0, unix.SIGTSTP); err != nil {
		return fmt.Errorf("stopping this process: %w", err)
	}
	select {
	case <-continued:
	case <-ctx.Done():
	case <-time.After(stopTime):
	}
	return nil
}
