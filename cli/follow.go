package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
	"aibox/session/output"
)

// followed is the part of manager.Manager that follows a session.
type followed interface {
	Follow(ctx context.Context, id session.ID, from int64, visit func(output.Chunk) error) (session.Session, error)
	Signal(ctx context.Context, id session.ID, number int) error
	Stop(ctx context.Context, id session.ID, reason string) (session.Session, error)
}

// follower shows the output of a session until it has ended, and passes the user's
// signals on to it.
type follower struct {
	sessions      followed
	watchRequests func(ctx context.Context, output *agentOutput) (stop func()) // shows the session's questions
	id            session.ID
	output        *agentOutput
	signals       <-chan os.Signal
	notify        func(ended *session.Session) // notifies the user of the session's end; may be nil
}

// followRun shows the agent's output until the session has ended; quiet shows it on
// standard error.
func (a *cli) followRun(ctx context.Context, service *manager.Manager, id session.ID, quiet bool) (session.Session, error) {
	return a.followFrom(ctx, service, id, 0, quiet)
}

// followFrom is followRun from byte offset from of the output.
func (a *cli) followFrom(ctx context.Context, service *manager.Manager, id session.ID, from int64, quiet bool) (session.Session, error) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, endSignals(os.Interrupt)...)
	defer signal.Stop(signals)
	if ctx.Err() != nil {
		signals <- syscall.SIGTERM // it arrived before Notify
	}
	out := a.out
	if quiet {
		out = a.err
	}
	f := follower{sessions: service, id: id, output: a.agentOutput(out), signals: signals}
	if from == 0 { // later output is a verification's
		f.output.renderEvents(service, id)
	}
	f.watchRequests = func(ctx context.Context, output *agentOutput) func() {
		return a.watchRequests(ctx, service, id, output)
	}
	f.notify = func(ended *session.Session) { a.notifyEnd(f.output, ended) }
	return f.run(context.WithoutCancel(ctx), from)
}

// notifyEnd makes the user's terminal notify them of the end of a session that ran for a
// while, since they may look at another window.
func (a *cli) notifyEnd(output *agentOutput, ended *session.Session) {
	if !output.errTerm.interactive || time.Since(ended.State.Started) < notifyAfter {
		return
	}
	event, what := manager.NotifyEnded, " has ended"
	if r := ended.State.Result; r != nil && r.Fault != nil {
		event, what = manager.NotifyFailed, " failed"
	}
	if sequence := a.notifier()(event, string(ended.ID)+what, ended.Repository); sequence != "" {
		_, _ = io.WriteString(a.err, sequence)
	}
}

// notifyAfter is how long a session must have run for a notification of its end on the
// terminal that follows it.
const notifyAfter = 10 * time.Second

// run follows the session from a byte offset of its output.
func (f *follower) run(ctx context.Context, from int64) (session.Session, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var handling sync.WaitGroup
	handling.Go(func() { f.handleSignals(ctx, cancel) })
	stop := func() {}
	if f.watchRequests != nil {
		stop = f.watchRequests(ctx, f.output)
	}
	ended, err := f.sessions.Follow(ctx, f.id, from, f.output.show)
	if err == nil && f.notify != nil {
		f.notify(&ended)
	}
	if hungUp := context.Cause(ctx); hungUp != nil && err != nil {
		err = hungUp
	}
	cancel(nil)
	stop()
	handling.Wait()
	return ended, errors.Join(err, f.output.close())
}

// handleSignals acts on the user's signals until ctx ends. The first ctrl-c asks the
// agent to stop, the second stops the session. A hang-up cancels following and leaves
// the session running, since the user can attach to it.
func (f *follower) handleSignals(ctx context.Context, cancel context.CancelCauseFunc) {
	var stopping sync.WaitGroup
	defer stopping.Wait()
	warn, asked := f.output.errTerm.warn("!"), false
	for {
		select {
		case <-ctx.Done():
			return
		case s := <-f.signals:
			switch {
			case s == syscall.SIGHUP:
				cancel(fault.New(fault.Interrupted, "the terminal hung up; %s continues", f.id).Hint("`aibox attach %s` follows it", f.id))
			case s == os.Interrupt && !asked:
				asked = true
				f.output.printf("%s the agent was asked to stop; ctrl-c again stops the session\n", warn)
				_ = f.sessions.Signal(ctx, f.id, int(syscall.SIGINT))
			default:
				f.output.printf("%s stopping %s; what it did so far is kept\n", warn, f.id)
				stopping.Go(func() { _, _ = f.sessions.Stop(ctx, f.id, "interrupted by the user") })
			}
		}
	}
}
