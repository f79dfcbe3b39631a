package supervisor

import (
	"fmt"
	"time"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/auditlog"
)

// silenceReport is how long a model is silent before that is reported. A local model may
// read a long prompt for minutes, so silence is not a failure yet.
const silenceReport = time.Minute

// silenceTracker tracks how long the model has not answered a request. It is a state
// machine without a clock: callers pass the times of events. It counts the time in which
// a request is open and no piece of any answer arrives. An agent that gives up and asks
// again does not start a new silence.
type silenceTracker struct {
	inFlight        int           // requests without an outcome yet
	before          time.Duration // silence during earlier requests that the agent gave up
	since           time.Time     // beginning of the silence of the requests in flight
	reported        time.Duration // length of the silence at the last report
	longestReported time.Duration // the longest reported one
}

func (s *silenceTracker) began(now time.Time) {
	if s.inFlight == 0 {
		s.since = now
	}
	s.inFlight++
}

// pieceReceived records a piece of an answer.
func (s *silenceTracker) pieceReceived(now time.Time) {
	if s.reported > 0 {
		s.longestReported = max(s.longestReported, s.length(now))
	}
	s.before, s.since, s.reported = 0, now, 0
}

// ended records the outcome of a request. Any answer of the server ends the silence.
func (s *silenceTracker) ended(now time.Time, outcome auditlog.Outcome) {
	if outcome != auditlog.GivenUp {
		s.pieceReceived(now)
	} else if s.inFlight == 1 {
		s.before = s.length(now)
	}
	s.inFlight--
}

// length returns the length of the silence at now.
func (s *silenceTracker) length(now time.Time) time.Duration {
	if s.inFlight == 0 {
		return s.before
	}
	return s.before + max(0, now.Sub(s.since))
}

// reaches returns when the silence will have lasted for d; ok is false while no request is
// open.
func (s *silenceTracker) reaches(d time.Duration) (at time.Time, ok bool) {
	return s.since.Add(d - s.before), s.inFlight > 0
}

// nextReport returns the length at which to report the silence: first after a minute, or
// after half of the limit, and then each time it has doubled.
func (s *silenceTracker) nextReport(limit time.Duration) time.Duration {
	switch {
	case s.reported > 0:
		return 2 * s.reported
	case limit > 0:
		return min(silenceReport, limit/2)
	default:
		return silenceReport
	}
}

// longest returns the longest reported silence, including the current one.
func (s *silenceTracker) longest(now time.Time) time.Duration {
	if s.reported > 0 {
		return max(s.longestReported, s.length(now))
	}
	return s.longestReported
}

// formatWait formats a time without an answer: 60 s, 10 min.
func formatWait(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 2*time.Minute || d%time.Minute != 0 && d < time.Hour:
		return fmt.Sprintf("%d s", d/time.Second)
	default:
		return fmt.Sprintf("%d min", d/time.Minute)
	}
}

// requestTimeout returns how long one request may wait for the beginning of its answer; 0
// for no limit. It is a little longer than the limit for silence, so that a run that ends
// because of silence does not also report the request.
func requestTimeout(spec *session.Spec) time.Duration {
	if limit := time.Duration(spec.ModelTimeout); limit > 0 {
		return limit + refusedTimeout
	}
	return 0
}

// reportSilence reports a silence of the model.
func (s *modelWatch) reportSilence(length time.Duration) {
	text := "no answer from the model for " + formatWait(length)
	limit := time.Duration(s.launch.Spec.ModelTimeout)
	switch {
	case limit == 0:
		text += "; it is waited for as long as the session lasts (--model-timeout 0)"
	case s.model.endsSession():
		text += fmt.Sprintf("; after %s the run is ended (--model-timeout)", formatWait(limit))
	}
	s.postNotice(text)
}

// silenceFault is the fault of a run whose model was silent for too long.
func silenceFault(f *fault.Fault) *fault.Fault {
	return f.Hint("--model-timeout sets how long a model may take for its next piece of an answer; 0 for no limit")
}
