package supervisor

import (
	"time"

	"aibox/session/auditlog"
)

// How long an agent may retry with a failing model. Agents retry on their own, some for
// many minutes without output, so a run with a dead model would look active.
const (
	// refusedTimeout applies to requests that were refused more than once for a lasting
	// reason: a wrong key, an unknown model. The agent needs this time to report it and to
	// exit.
	refusedTimeout  = 5 * time.Second
	refusedFailures = 2
	// brokenTimeout applies to a server that fails or cannot be reached, which may be
	// temporary. It also applies to a first refusal: some agents first ask another model
	// for something small, such as a title, continue after its failure, and may take a
	// while to start the task.
	brokenTimeout = 15 * time.Second
	// provenTimeout and provenFailures apply to a model that has answered in this
	// session: there is work to lose, and the problem is more likely to be temporary.
	provenTimeout  = time.Minute
	provenFailures = 3
	// unprovenBusyTimeout applies to a server that asks to retry later. The agent should wait,
	// but an unattended run must not wait for hours. Most rate limits are per minute.
	// provenBusyTimeout applies to a server that has answered before.
	unprovenBusyTimeout = 2 * time.Minute
	provenBusyTimeout   = 10 * time.Minute
	// emptyFailures is the number of consecutive empty answers that count as a failure, even
	// of a model that has answered before. A server that answers 200 without content does so
	// at once, so a retrying agent would send hundreds of requests.
	emptyFailures = 5
)

// failureTracker decides whether the model of a running agent is dead. It is a state
// machine without a clock: callers pass the times of events. It only counts generation
// requests, not those that list models.
//
// A request in flight stops everything, since a model may think for minutes and a late
// answer must count. Each answer resets the tracker. A server that asks to retry later also
// ends a series of failures. Its time starts at its first such answer, unless it asks for
// more time than the limit, which makes waiting pointless. Otherwise the time starts at the
// first failure of a series.
type failureTracker struct {
	inFlight int  // requests without an outcome yet
	answered bool // the model has answered in this session
	failures int  // consecutive failures
	empty    int  // how many of the last ones were empty answers
	first    time.Time
	last     auditlog.Outcome // outcome of the last failure
	busyEnd  time.Time        // end of the wait for a busy server; zero if it is not busy
}

// began records a request.
func (h *failureTracker) began() { h.inFlight++ }

// ended records the outcome of a request at now.
func (h *failureTracker) ended(now time.Time, outcome auditlog.Outcome) {
	h.inFlight--
	switch outcome {
	case auditlog.Answered:
		h.answered, h.failures, h.empty, h.busyEnd = true, 0, 0, time.Time{}
	case auditlog.Busy:
		h.failures, h.empty = 0, 0
		if h.busyEnd.IsZero() {
			h.busyEnd = now.Add(busyTimeout(h.answered))
		}
	case auditlog.Refused, auditlog.Broken, auditlog.NoAnswer, auditlog.Blank:
		if h.failures == 0 {
			h.first = now
		}
		h.failures++
		if h.empty++; outcome == auditlog.Refused || outcome == auditlog.Broken {
			h.empty = 0
		}
		h.last = outcome
	case auditlog.GivenUp: // caused by the agent, so it says nothing about the model
	}
}

// busyTimeout returns how long to wait for a busy server.
func busyTimeout(answered bool) time.Duration {
	if answered {
		return provenBusyTimeout
	}
	return unprovenBusyTimeout
}

// retryAfter records the time that a busy server asks to wait, from now on. If that is too
// long, the agent only gets the time to report it and to exit.
func (h *failureTracker) retryAfter(now time.Time, wait time.Duration) {
	if end := now.Add(refusedTimeout); now.Add(wait).After(h.busyEnd) && end.Before(h.busyEnd) {
		h.busyEnd = end
	}
}

// due returns when the model counts as dead unless another event comes earlier. It may be
// in the past. ok is false if there is no such time.
func (h *failureTracker) due() (at time.Time, ok bool) {
	at, ok = h.failing()
	if busy := h.inFlight == 0 && !h.busyEnd.IsZero(); busy && (!ok || h.busyEnd.Before(at)) {
		return h.busyEnd, true
	}
	return at, ok
}

// failing returns the result of due for consecutive failures.
func (h *failureTracker) failing() (at time.Time, ok bool) {
	switch {
	case h.inFlight == 0 && h.empty >= emptyFailures:
		return h.first.Add(refusedTimeout), true
	case h.inFlight > 0, h.failures == 0, h.answered && h.failures < provenFailures:
		return time.Time{}, false
	case h.answered:
		return h.first.Add(provenTimeout), true
	case h.last == auditlog.Refused && h.failures >= refusedFailures:
		return h.first.Add(refusedTimeout), true
	default:
		return h.first.Add(brokenTimeout), true
	}
}
