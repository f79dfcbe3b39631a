package supervisor

import (
	"fmt"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/session"
)

const (
	// maxNoticeBefore is the longest time before its end at which a session asks for more
	// time; usually it asks when a tenth of the last extension is left.
	maxNoticeBefore = 2 * time.Minute
	// maxExtension limits one extension.
	maxExtension = 30 * 24 * time.Hour
)

// timeBudget tracks how long a session may run. It is a state machine without a clock:
// callers pass the times of events. The zero value has no limit.
type timeBudget struct {
	began     time.Time     // zero until the session runs
	limit     time.Duration // the whole time
	lastGiven time.Duration // the last extension
	requested bool          // more time was requested since then
	over      bool          // the time is up, or the agent has ended
	ended     bool          // the agent has ended
	paused    time.Time     // when the time was stopped; zero if it is not
}

// ends returns when the time is up; ok is false without a limit.
func (a *timeBudget) ends() (at time.Time, ok bool) { return a.began.Add(a.limit), a.limit > 0 }

// due returns when to act next: to ask for more time, or to end the session.
func (a *timeBudget) due() (at time.Time, ok bool) {
	end, ok := a.ends()
	if !ok || a.over || !a.paused.IsZero() {
		return time.Time{}, false
	}
	if !a.requested {
		end = end.Add(-min(a.lastGiven/10, maxNoticeBefore))
	}
	return end, true
}

// extend extends the time limit.
func (a *timeBudget) extend(by time.Duration) error {
	switch {
	case a.ended:
		return fault.New(fault.Conflict, "the session is no longer running")
	case a.began.IsZero():
		return errNotRunning
	case a.limit == 0:
		return fault.New(fault.Usage, "the session has no time limit")
	case a.over:
		return fault.New(fault.Conflict, "the session's time is up")
	case by <= 0 || by > maxExtension:
		return fault.New(fault.Usage, "a session can be given up to %v at once, not %v", maxExtension, by)
	case a.limit+by < a.limit:
		return fault.New(fault.Usage, "the session's time limit is long enough")
	}
	a.limit, a.lastGiven, a.requested = a.limit+by, by, false
	return nil
}

// set sets the remaining time from now on; 0 means no limit.
func (a *timeBudget) set(now time.Time, left time.Duration) error {
	switch {
	case a.ended:
		return fault.New(fault.Conflict, "the session is no longer running")
	case a.began.IsZero():
		return errNotRunning
	case a.over && a.paused.IsZero():
		return fault.New(fault.Conflict, "the session's time is up")
	case left < 0 || left > maxExtension:
		return fault.New(fault.Usage, "a sandbox can be given up to %v, not %v", maxExtension, left)
	case left == 0:
		a.limit, a.lastGiven, a.requested, a.over = 0, 0, false, false
	default:
		if !a.paused.IsZero() {
			now = a.paused
		}
		a.limit, a.lastGiven, a.requested = max(1, now.Sub(a.began)+left), left, false
		a.over = false
	}
	return nil
}

// pause stops the time.
func (a *timeBudget) pause(now time.Time) { a.paused = now }

// resume continues the time. If it was over, it begins again.
func (a *timeBudget) resume(now time.Time) {
	switch {
	case a.paused.IsZero(), a.ended:
	case a.over:
		a.began, a.limit, a.over, a.requested = now, a.lastGiven, false, false
	default:
		a.began = a.began.Add(now.Sub(a.paused))
	}
	a.paused = time.Time{}
}

// countdown runs a timeBudget on the real clock. It is safe for concurrent use.
type countdown struct {
	mu    sync.Mutex
	time  timeBudget
	timer *time.Timer
	ask   func(until time.Time)     // called when the time is almost over
	end   func(limit time.Duration) // called once, when it is over
}

// start starts the countdown; limit 0 means none. ask and end are called from a separate
// goroutine, never after stop.
func (c *countdown) start(limit time.Duration, ask func(until time.Time), end func(limit time.Duration)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time = timeBudget{began: time.Now(), limit: limit, lastGiven: limit}
	c.ask, c.end = ask, end
	c.arm()
}

// stop stops the countdown; the remaining time stays as it is.
func (c *countdown) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time.over, c.time.ended = true, true
	c.arm()
}

// extend extends the time and returns the new limit.
func (c *countdown) extend(by time.Duration) (time.Duration, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.time.extend(by)
	c.arm()
	return c.time.limit, err
}

// set sets the remaining time from now on; 0 means no limit.
func (c *countdown) set(left time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.time.set(time.Now(), left)
	c.arm()
	return err
}

// pause stops the time, and resume continues it.
func (c *countdown) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time.pause(time.Now())
	c.arm()
}

func (c *countdown) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.time.resume(time.Now())
	c.arm()
}

// deadline returns when the time is up; zero without a limit and while the time is stopped.
func (c *countdown) deadline() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.time.ends(); ok && c.time.paused.IsZero() {
		return at.UTC()
	}
	return time.Time{}
}

// arm sets the timer to the next event. c.mu is held.
func (c *countdown) arm() {
	if c.timer != nil {
		c.timer.Stop()
	}
	if at, ok := c.time.due(); ok {
		c.timer = time.AfterFunc(time.Until(at), c.check)
	}
}

// check handles the timer, which may fire after the state has changed.
func (c *countdown) check() {
	c.mu.Lock()
	at, ok := c.time.due()
	if !ok || time.Now().Before(at) {
		c.mu.Unlock()
		return
	}
	end, _ := c.time.ends()
	limit, asks := c.time.limit, !c.time.requested
	c.time.requested, c.time.over = true, !asks
	c.arm()
	c.mu.Unlock()
	if asks {
		c.ask(end)
	} else {
		c.end(limit)
	}
}

// limitTime starts the session's time limit. A verification, whose session belongs to
// another one, does not ask for more time. Neither does a sandbox, which has no user.
func (s *limits) limitTime() {
	asked := s.launch.Spec
	limit := time.Duration(asked.Timeout)
	s.timeLimit.start(limit, func(until time.Time) {
		if asked.Verifies == nil && !asked.IsSandbox() {
			s.askForTime(limit, until)
		}
	}, func(limit time.Duration) {
		s.requests.close()
		s.audit(audit.LimitReached, map[string]string{"limit": "time", "value": limit.String()})
		if s.pausesAtLimit() {
			return
		}
		s.end(session.TimeLimitFault(limit).
			Hint("%s", s.hintKept("--timeout sets another limit")))
	})
}

// askForTime asks the user whether to extend the session by its first limit again.
func (s *limits) askForTime(step time.Duration, until time.Time) {
	s.ask(session.Request{
		What: session.RequestTime, Until: until.UTC(),
		Question: fmt.Sprintf("The time of %s is almost up. Without an answer it is ended then; its work so far is kept.", s.id),
		Yes:      "give it " + amount.Span(step) + " more", No: "let it end",
	}, func(answer session.Answer) error {
		if answer.Allows() {
			return s.Extend(step)
		}
		return nil
	})
	s.postNotice(fmt.Sprintf("the time limit ends this session at %s; `aibox extend %s %s` gives it more",
		until.Local().Format(time.TimeOnly), s.id, amount.Span(step)))
}

// setTimeout sets the time after which the session ends, from now on; 0 means never.
func (s *limits) setTimeout(left time.Duration) error {
	if err := s.timeLimit.set(left); err != nil {
		return err
	}
	s.audit(audit.LimitExtended, map[string]string{"limit": "time", "value": left.String(), "from": "now"})
	s.requests.withdraw(func(r session.Request) bool { return r.What == session.RequestTime })
	s.publishing.flush()
	return s.saveExpires()
}

// saveExpires stores when the time of a sandbox is up.
func (s *limits) saveExpires() error {
	if !s.launch.Spec.IsSandbox() {
		return nil
	}
	return s.save(func(st *session.State) { st.Expires = s.timeLimit.deadline() })
}

// Extend extends the session's time limit.
func (s *limits) Extend(by time.Duration) error {
	limit, err := s.timeLimit.extend(by)
	if err != nil {
		return err
	}
	s.audit(audit.LimitExtended, map[string]string{"limit": "time", "by": by.String(), "value": limit.String()})
	s.requests.withdraw(func(r session.Request) bool { return r.What == session.RequestTime })
	s.publishing.flush()
	return s.saveExpires()
}
