package supervisor

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

// pauser pauses a running sandbox and resumes it. During a pause PID 1 cannot answer, so it
// is not watched, and the sandbox's time is stopped. Its memory limit and its watchdog stay
// active. It is safe for concurrent use.
type pauser struct {
	mu        sync.Mutex // held during a pause and a resume
	session   *supervisor
	container runtime.Sandbox
	watching  context.Context //nolint:containedctx // ends with the sandbox, not with a request
	unwatch   context.CancelFunc
	silent    chan error
	ending    bool
	snapshots snapshots
	started   chan struct{} // closed by start
	limit     time.Duration // how long the ends of the session and of its time wait for a pause or a snapshot
	patience  time.Duration // how long it waits for the daemon's answer to a pause or a resume

	freezeLimit time.Duration // see freezeTimeout
}

func newPauser() pauser {
	return pauser{
		snapshots: newSnapshots(), started: make(chan struct{}), limit: 5 * time.Minute, patience: 5 * time.Second,
		freezeLimit: freezeTimeout,
	}
}

// start begins to watch PID 1, and returns the channel for the result of Watch.
func (p *pauser) start(ctx context.Context, s *supervisor, container runtime.Sandbox) <-chan error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.session, p.container, p.watching, p.silent = s, container, ctx, make(chan error, 1)
	p.watch()
	close(p.started)
	return p.silent
}

// watch watches PID 1 until unwatch is called. p.mu is held.
func (p *pauser) watch() {
	ctx, cancel := context.WithCancel(p.watching)
	p.unwatch = cancel
	line, silent := p.session.line, p.silent
	go func() {
		err := line.Watch(ctx, 0)
		if ctx.Err() == nil {
			silent <- err
		}
	}()
}

// pause pauses the sandbox. It is no error if the sandbox is already paused.
func (p *pauser) pause(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	container, err := p.check()
	if err != nil || !p.session.state().Paused.IsZero() {
		return err
	}
	s := p.session
	p.unwatch()
	s.processes.clock.pause()
	calling, done := p.calling(ctx)
	defer done()
	if err := container.Pause(calling); err != nil {
		s.processes.clock.resume()
		p.watch()
		return err
	}
	s.timeLimit.pause()
	s.idle.stop()
	s.audit(audit.SandboxPaused, map[string]any{})
	err = s.save(func(st *session.State) { st.Paused, st.Expires = time.Now().UTC(), time.Time{} })
	s.publishing.flush()
	return err
}

// resume continues a paused sandbox. It is no error if the sandbox is not paused.
func (p *pauser) resume(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	container, err := p.check()
	if err != nil || p.session.state().Paused.IsZero() {
		return err
	}
	s := p.session
	s.audit(audit.SandboxResumed, map[string]any{}) // logged first: nothing runs without a record
	calling, done := p.calling(ctx)
	defer done()
	if err := container.Resume(calling); err != nil {
		return err
	}
	p.watch()
	s.processes.clock.resume()
	s.timeLimit.resume()
	s.limitIdleTime()
	err = s.save(func(st *session.State) { st.Paused, st.Expires = time.Time{}, s.timeLimit.deadline() })
	s.publishing.flush()
	return err
}

// calling returns the context of a call of the daemon, which continues after the client of ctx has
// left. A daemon that hangs must not hold up the end of the session. p.mu is held.
func (p *pauser) calling(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended, patience := p.session.ended, p.patience
	go func() {
		select {
		case <-ctx.Done():
			return
		case <-ended:
		}
		select {
		case <-ctx.Done():
		case <-time.After(patience):
			cancel()
		}
	}()
	return ctx, cancel
}

// check returns the control that pauses the sandbox. p.mu is held.
func (p *pauser) check() (runtime.Pauser, error) {
	if p.session == nil {
		return nil, fault.New(fault.Conflict, "the sandbox is not running yet")
	}
	if p.ending || p.session.isEnding() {
		return nil, fault.New(fault.Conflict, "the sandbox is ending")
	}
	container, ok := p.container.(runtime.Pauser)
	if !ok {
		return nil, fault.New(fault.Refused, "the runtime of this sandbox cannot pause it")
	}
	return container, nil
}

// end prevents further pauses, and reports whether the sandbox is paused.
func (p *pauser) end() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending = true
	return !p.session.state().Paused.IsZero()
}

// pauseAtLimit pauses the sandbox at the end of its time, which a short one reaches before start. If
// that fails, or a pause or a snapshot that is in progress hangs, it ends the sandbox.
func (p *pauser) pauseAtLimit(ended <-chan struct{}) {
	select {
	case <-p.started:
	case <-ended:
		return
	}
	paused := make(chan error, 1)
	go func() { paused <- p.pause(context.Background()) }()
	var err error
	select {
	case err = <-paused:
	case <-time.After(p.limit):
		err = fmt.Errorf("it took more than %v", p.limit)
	}
	if err != nil && fault.KindOf(err) != fault.Conflict {
		fmt.Fprintln(os.Stderr, "pausing at the end of the time:", err)
		p.session.end(fault.New(fault.Limit, "the time limit was reached, and the sandbox could not be paused: %w", err))
	}
}
