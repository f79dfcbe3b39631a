package supervisor

import (
	"time"

	"aibox/session"
)

// How long an agent is left alone with a model that fails. Agents try again on
// their own, some of them for many minutes and without a word, so a run whose model
// is dead would look like one that thinks.
const (
	// refusedTimeout is for what will be refused again, and has been: a wrong key, an
	// unknown model. The agent needs it to say so and to end by itself.
	refusedTimeout  = 5 * time.Second
	refusedFailures = 2
	// brokenTimeout is for a server that fails or is not there, which may be a
	// passing thing. It is also for what was refused only once: some agents first ask
	// another model for something small, such as a title, get over its failure, and
	// may take a while to come to the task itself.
	brokenTimeout = 15 * time.Second
	// provenTimeout and provenFailures are for a model that has answered in this
	// session: there is work to lose, and the trouble is likelier to pass.
	provenTimeout  = time.Minute
	provenFailures = 3
	// unprovenBusyTimeout is for a server that only asks to come later. It is alive, and the
	// agent does right to wait, but an unattended run must not wait for hours.
	// Limits of rates are mostly counted by the minute. provenBusyPatience is for one
	// that has answered before.
	unprovenBusyTimeout = 2 * time.Minute
	provenBusyTimeout   = 10 * time.Minute
	// emptyFailures in a row without a word are enough whatever the model has answered
	// before. A server that answers 200 without an answer answers at once, so an agent
	// that asks again and again would spend hundreds of requests.
	emptyFailures = 5
)

// failureTracker is whether the model of a running agent is dead. It is a state machine
// without a clock: callers say when things happened. It knows only requests for an
// answer; those about models say nothing.
//
// A request in flight stops everything, since a model may think for minutes and a
// late answer must win. Each answer starts the count again. A server that asks to come
// later ends a row of failures, too, and is waited for from the first time on, unless it
// asks for more than that: then waiting has no point. What else counts is a row of
// failures, from the first of them on.
type failureTracker struct {
	inFlight int  // requests without an outcome yet
	answered bool // the model has answered in this session
	failures int  // in a row
	empty    int  // of them, those at its end that were answers without an answer
	first    time.Time
	last     session.Outcome // of the row
	busyEnd  time.Time       // until when a server is waited for that only asks to come later; zero for one that does not
}

// began notes a request.
func (h *failureTracker) began() { h.inFlight++ }

// ended notes the outcome of a request at now.
func (h *failureTracker) ended(now time.Time, outcome session.Outcome) {
	h.inFlight--
	switch outcome {
	case session.Answered:
		h.answered, h.failures, h.empty, h.busyEnd = true, 0, 0, time.Time{}
	case session.Busy:
		h.failures, h.empty = 0, 0
		if h.busyEnd.IsZero() {
			h.busyEnd = now.Add(busyTimeout(h.answered))
		}
	case session.Refused, session.Broken, session.NoAnswer, session.Blank:
		if h.failures == 0 {
			h.first = now
		}
		h.failures++
		if h.empty++; outcome == session.Refused || outcome == session.Broken {
			h.empty = 0
		}
		h.last = outcome
	case session.GivenUp: // the agent's own doing, which says nothing of the model
	}
}

// busyTimeout is how long a server is waited for that only asks to come later.
func busyTimeout(answered bool) time.Duration {
	if answered {
		return provenBusyTimeout
	}
	return unprovenBusyTimeout
}

// retryAfter notes how long a busy server asks at now to wait. When that is longer than it
// is waited for, the agent only gets the time to say so and to end by itself.
func (h *failureTracker) retryAfter(now time.Time, wait time.Duration) {
	if end := now.Add(refusedTimeout); now.Add(wait).After(h.busyEnd) && end.Before(h.busyEnd) {
		h.busyEnd = end
	}
}

// due is when the model counts as dead unless something happens before. It may be
// past. Not ok means never, unless something happens.
func (h *failureTracker) due() (at time.Time, ok bool) {
	at, ok = h.failing()
	if busy := h.inFlight == 0 && !h.busyEnd.IsZero(); busy && (!ok || h.busyEnd.Before(at)) {
		return h.busyEnd, true
	}
	return at, ok
}

// failing is due for the row of failures.
func (h *failureTracker) failing() (at time.Time, ok bool) {
	switch {
	case h.inFlight == 0 && h.empty >= emptyFailures:
		return h.first.Add(refusedTimeout), true
	case h.inFlight > 0, h.failures == 0, h.answered && h.failures < provenFailures:
		return time.Time{}, false
	case h.answered:
		return h.first.Add(provenTimeout), true
	case h.last == session.Refused && h.failures >= refusedFailures:
		return h.first.Add(refusedTimeout), true
	default:
		return h.first.Add(brokenTimeout), true
	}
}
