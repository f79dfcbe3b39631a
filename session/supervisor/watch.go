package supervisor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"aibox/internal/fault"
	"aibox/internal/lifeline"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/output"
)

// sandboxOutcome is the end of the sandbox as the lifeline reported it.
type sandboxOutcome struct {
	exit  *lifeline.Exit // nil if the sandbox ended without a report
	err   string         // the first error of PID 1; empty if there is none
	cause error          // why the connection broke, if exit is nil
}

// markRunning starts the limits of time and stores that the session runs. From then on clients
// can change these limits.
func (s *supervisor) markRunning() error {
	s.pauser.mu.Lock() // a change of the idle time comes before this or after it
	defer s.pauser.mu.Unlock()
	if spec := s.launch.Spec.Sandbox; spec != nil && spec.OnTimeout == session.Pause {
		s.pauseAtLimit = func() { s.pauser.pauseAtLimit(s.ended) }
	}
	s.limitTime()
	s.limitIdleTime()
	return s.save(func(st *session.State) {
		st.Phase, st.Started = session.Running, s.began.UTC()
		if limit := time.Duration(s.launch.Spec.Timeout); limit > 0 && s.launch.Spec.IsSandbox() {
			st.Expires = st.Started.Add(limit)
		}
	})
}

// watch records the agent's output until it ends, and ends it when a limit is
// reached, a stop is requested, or the daemon is lost.
func (s *supervisor) watch(ctx context.Context, res *resources, container runtime.Sandbox) (sandboxOutcome, error) {
	watching, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var measuring sync.WaitGroup
	defer measuring.Wait()
	defer cancel()
	measuring.Go(func() { s.limitDisk(watching, res) })
	measuring.Go(func() { s.limitMemory(watching) })
	measuring.Go(func() { s.limitTasks(watching) })
	line := make(chan sandboxOutcome, 1)
	go func() { line <- s.receive() }()
	dead := make(chan error, 2)
	go func() { _, err := container.Wait(watching); dead <- err }()
	go s.followParent(watching)
	sandbox := s.state().Sandbox
	go func() { dead <- sandbox.AwaitEndOr(watching) }() // the kernel reports it before the daemon does
	silent := s.pauser.start(watching, s, container)

	s.startOutputLimit()
	s.publishing.start(s.publish)
	s.publishing.trigger() // publishes the end of the time limit
	s.attention.start(res.agent)
	defer func() {
		s.files.relay.Close()
		s.ports.stop()
		s.timeLimit.stop()
		s.idle.stop()
		s.requests.close()
		s.attention.stop()
		s.publishing.stop()
	}()
	defer s.model.stop()
	var kill <-chan time.Time
	var asked <-chan struct{}
	interrupted, ended, unwatched := ctx.Done(), s.ended, s.watchdog.Died()
	for {
		select {
		case out := <-line:
			_ = s.line.Close() // nothing is received anymore, and a PID 1 that does not read must not hold up a sender
			s.mu.Lock()
			cause := s.cause
			s.mu.Unlock()
			if out.exit == nil && cause == nil {
				cause = s.unreportedCause()
			}
			return out, cause
		case <-interrupted:
			interrupted = nil
			s.Stop("the supervisor received a signal to end", 0)
		case <-ended:
			ended = nil
			asked, kill = s.askToEnd(), time.After(s.pauser.limit)
		case <-asked:
			asked, kill = nil, time.After(s.grace()+2*time.Second)
		case <-kill:
			s.killSandbox()
		case err := <-dead:
			if err == nil {
				s.line.Drain(drainTimeout)
			}
			s.endUnreachable(err)
		case err := <-silent:
			s.endUnreachable(err)
		case <-unwatched:
			unwatched = nil
			s.end(fault.New(fault.Environment, "the session's watchdog was killed, so the session was ended").
				Hint("%s", s.hintKept("without it the sandbox could outlive its supervisor")))
		}
	}
}

// askToEnd asks the sandbox to end, in the background: PID 1 may read nothing, and a pause or a
// snapshot in progress, which ends first, may hang. The result is closed once there is none.
func (s *supervisor) askToEnd() <-chan struct{} {
	asked := make(chan struct{})
	go func() {
		paused := s.pauser.end()
		close(asked)
		if paused { // it cannot end by itself
			s.killSandbox()
		}
		if s.line.Stop(s.grace()) != nil {
			_ = s.line.Close()
		}
	}()
	return asked
}

// grace returns the time that the sandbox has to end by itself after a stop.
func (s *supervisor) grace() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.stopGrace, defaultGrace)
}

// drainTimeout is the time limit for reading the last data of a dead sandbox. The host's
// kernel already has the data, so only a busy machine needs the time.
const drainTimeout = 300 * time.Millisecond

// endUnreachable ends a sandbox that cannot be controlled: the connection to its daemon was
// lost, or its PID 1 does not answer. Other errors are ends of sandboxes and connections,
// which the lifeline reports better.
func (s *sandbox) endUnreachable(err error) {
	switch {
	case errors.Is(err, runtime.ErrDaemonLost):
		s.end(fault.New(fault.Environment, "Docker stopped, so the sandbox was ended").
			Hint("%s", s.hintKept("start Docker again (`aibox doctor` shows how)")))
	case errors.Is(err, lifeline.ErrSilent):
		s.end(fault.New(fault.Refused, "the sandbox's first process stopped answering, so the sandbox was ended").
			Hint("%s", s.hintKept("an agent that stops it tries to escape supervision")))
	default:
		return
	}
	s.killSandbox()
}

// killSandbox ends the sandbox without the daemon: its PID 1 ends when the connection is
// closed, and its process on the host is killed.
func (s *sandbox) killSandbox() {
	if s.line != nil {
		_ = s.line.Close()
	}
	if sandbox := s.state().Sandbox; sandbox.PID > 0 {
		if err := runtime.KillProcess(sandbox); err != nil {
			fmt.Fprintln(os.Stderr, "killing the sandbox:", err)
		}
	}
}

// receive reads frames from the sandbox until the agent or the connection has ended.
func (s *supervisor) receive() sandboxOutcome {
	var out sandboxOutcome
	for {
		frame, err := s.line.Receive()
		if err != nil {
			out.cause = err
			return out
		}
		switch frame.Type {
		case lifeline.TypeStdout:
			err = s.recordOutput(output.Stdout, frame.Payload)
			s.term.Feed(frame.Payload, s.ended)
			s.publishing.triggerLate()
			s.attention.trigger()
		case lifeline.TypeStderr:
			err = s.recordOutput(output.Stderr, frame.Payload)
			s.publishing.triggerLate()
		case lifeline.TypeError:
			message, decodeErr := lifeline.Decode[lifeline.Error](frame)
			out.err, err = cmp.Or(out.err, message.Text), decodeErr // the others are of no use, and could be many
		case lifeline.TypeExit:
			exit, decodeErr := lifeline.Decode[lifeline.Exit](frame)
			if decodeErr == nil {
				if exit.Tasks > 0 {
					s.limitProcesses(lifeline.Tasks{Count: exit.Tasks, Ended: true})
				}
				out.exit = &exit
				return out
			}
			err = decodeErr
		case lifeline.TypeFrozen:
			frozen, decodeErr := lifeline.Decode[lifeline.Frozen](frame)
			if decodeErr == nil {
				s.pauser.snapshots.answered(frozen)
			}
			err = decodeErr
		case lifeline.TypeTasks:
			tasks, decodeErr := lifeline.Decode[lifeline.Tasks](frame)
			if decodeErr == nil {
				s.limitProcesses(tasks)
			}
			err = decodeErr
		default: // for a program or a connection that the user has started
			s.noteActivity()
			if err := errors.Join(s.ports.dialer.Handle(frame), s.processes.receive(frame)); err != nil {
				out.cause = err
				return out
			}
		}
		if err != nil {
			s.end(fault.New(fault.Environment, "the agent's output cannot be recorded: %w", err).
				Hint("check whether the disk of %s is full", s.deps.Dirs.State))
		}
	}
}
