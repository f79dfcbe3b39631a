package supervisor

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
)

// activity is when a session was last active. It is safe for concurrent use.
type activity struct {
	begin time.Time
	last  atomic.Int64 // nanoseconds since begin
	open  atomic.Int64 // requests to the model without an outcome
	calls atomic.Int64 // open calls of clients
}

// noteActivity records activity: output, input, a request. It is called for every piece of
// output, so it leaves all other work to the timer.
func (a *activity) noteActivity() { a.last.Store(int64(time.Since(a.begin))) }

// beginCall counts a call of a client until end is called: one that follows a process, sends it
// input or shows its terminal, a transfer of files, a snapshot.
func (a *activity) beginCall() (end func()) {
	a.calls.Add(1)
	return func() {
		a.noteActivity()
		a.calls.Add(-1)
	}
}

// lastActive returns when the session was last active. A session that waits for its model,
// or that has an open call, is active.
func (a *activity) lastActive(now time.Time) time.Time {
	if a.open.Load() > 0 || a.calls.Load() > 0 {
		return now
	}
	return a.begin.Add(time.Duration(a.last.Load()))
}

// idleTracker tracks how long a session has been idle. It is a state machine without a
// clock.
type idleTracker struct {
	limit     time.Duration // 0 for none
	requested time.Time     // the activity before the idle time that the user was asked about
}

// idleStep is an action of the idle limit.
type idleStep int

const (
	idleNothing  idleStep = iota
	idleAsk               // ask the user
	idleWithdraw          // the session has been active since the question
	idleEnd               // end the session
)

// step returns the action due at now after the last activity, and the time of the next one.
func (t *idleTracker) step(now, last time.Time) (due idleStep, next time.Time) {
	stop := last.Add(t.limit)
	warn := stop.Add(-min(t.limit/10, maxNoticeBefore))
	asked := !t.requested.IsZero()
	switch {
	case !now.Before(stop):
		return idleEnd, time.Time{}
	case now.Before(warn) && asked:
		t.requested = time.Time{}
		return idleWithdraw, warn
	case now.Before(warn):
		return idleNothing, warn
	case asked && t.requested.Equal(last):
		return idleNothing, stop
	default:
		t.requested = last
		return idleAsk, stop
	}
}

// idleLimit runs an idleTracker on the clock. It is safe for concurrent use.
type idleLimit struct {
	mu    sync.Mutex
	state idleTracker
	bytes int64 // bytes of the egress proxy at the last check
	timer *time.Timer
	last  func(now time.Time) time.Time // returns the last activity
	take  func(due idleStep, stop time.Time)
}

// start starts the limit; 0 means none. take is called with each step but idleNothing, from
// a separate goroutine; stop is when the session ends unless it becomes active.
func (l *idleLimit) start(limit time.Duration, last func(now time.Time) time.Time, take func(due idleStep, stop time.Time)) {
	if limit == 0 {
		return
	}
	l.mu.Lock()
	l.state, l.last, l.take = idleTracker{limit: limit}, last, take
	l.mu.Unlock()
	l.check()
}

// stop stops the limit.
func (l *idleLimit) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.take = nil
	if l.timer != nil {
		l.timer.Stop()
	}
}

// check handles the timer.
func (l *idleLimit) check() {
	l.mu.Lock()
	take := l.take
	if take == nil {
		l.mu.Unlock()
		return
	}
	now := time.Now()
	last := l.last(now)
	stop := last.Add(l.state.limit)
	due, next := l.state.step(now, last)
	if due == idleEnd {
		l.take = nil
	} else {
		l.timer = time.AfterFunc(next.Sub(now), l.check)
	}
	l.mu.Unlock()
	if due != idleNothing {
		take(due, stop)
	}
}

// limitIdleTime ends the session when it has been idle for its limit.
func (s *limits) limitIdleTime() {
	limit := time.Duration(s.launch.Spec.IdleTimeout)
	if changed := s.state().IdleTimeout; changed != nil {
		limit = *changed
	}
	s.noteActivity()
	s.idle.start(limit, s.lastActive, func(due idleStep, stop time.Time) {
		switch due {
		case idleAsk:
			if !s.launch.Spec.IsSandbox() { // no user could answer
				s.askAboutIdleTime(limit, stop)
			}
		case idleWithdraw:
			s.requests.withdraw(func(r session.Request) bool { return r.What == session.RequestIdle })
		case idleEnd:
			s.audit(audit.LimitReached, map[string]string{"limit": session.RequestIdle, "value": limit.String()})
			if s.pausesAtLimit() {
				return
			}
			s.end(fault.New(fault.Limit, "the session was idle for %s: no output, no input and no request", amount.Span(limit)).
				Hint("%s", s.hintKept("--idle-timeout sets another limit")))
		}
	})
}

// checkIdleTimeout refuses an invalid idle time of a sandbox.
func checkIdleTimeout(limit time.Duration) error {
	if limit < 0 || limit > maxExtension {
		return fault.New(fault.Usage, "a sandbox can be idle for up to %v, not %v", maxExtension, limit)
	}
	return nil
}

// setIdleTimeout sets the time without activity, from now on, after which the sandbox ends;
// 0 means never.
func (c sandboxControl) setIdleTimeout(limit time.Duration) error {
	c.pauser.mu.Lock() // so that no pause begins or ends now
	defer c.pauser.mu.Unlock()
	if c.pauser.ending || c.isEnding() {
		return fault.New(fault.Conflict, "the sandbox is ending")
	}
	if err := c.save(func(st *session.State) { st.IdleTimeout = &limit }); err != nil {
		return err
	}
	c.audit(audit.LimitExtended, map[string]string{"limit": session.RequestIdle, "value": limit.String(), "from": "now"})
	if now := c.state(); now.Phase == session.Running && now.Paused.IsZero() {
		c.idle.stop()
		c.limitIdleTime()
	}
	return nil
}

// lastActive returns when the session was last active: the last time of output, input, a
// model request, or traffic of the egress proxy or a dialed port. While a call is open, it is
// now. s.idle.mu is held.
func (s *limits) lastActive(now time.Time) time.Time {
	if moved := s.policy.egressBytes(); moved != s.idle.bytes {
		s.idle.bytes = moved
		s.noteActivity()
	}
	last := s.activity.lastActive(now)
	if typed := s.term.LastInput(); typed.After(last) {
		last = typed
	}
	if moved := s.ports.dialed.lastActive(now); moved.After(last) {
		return moved
	}
	return last
}

// askAboutIdleTime asks the user whether to keep an idle session. Activity withdraws the
// question.
func (s *limits) askAboutIdleTime(limit time.Duration, until time.Time) {
	r, asked := s.ask(session.Request{
		What: session.RequestIdle, Until: until.UTC(),
		Question: fmt.Sprintf("Session %s is idle. Without an answer it is ended soon; its work so far is kept.", s.id),
		Yes:      "wait for " + amount.Span(limit) + " more", No: "let it end",
	}, func(answer session.Answer) error {
		if answer.Allows() {
			s.noteActivity()
			s.audit(audit.LimitExtended, map[string]string{"limit": session.RequestIdle, "by": limit.String(), "value": limit.String()})
		}
		return nil
	})
	if asked {
		s.postNotice(fmt.Sprintf("the session is idle and is ended at %s (--idle-timeout); `aibox answer %s %d yes` keeps it for %s more",
			until.Local().Format(time.TimeOnly), s.id, r.ID, amount.Span(limit)))
	}
}
