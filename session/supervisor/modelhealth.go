package supervisor

import (
	"sync"
	"sync/atomic"
	"time"

	"aibox/session/auditlog"
)

// modelHealth runs the state machines for failures and silence of the model on the real
// clock.
type modelHealth struct {
	mu       sync.Mutex
	failures failureTracker
	silence  silenceTracker
	limit    time.Duration              // limit of a silence; 0 for none
	report   func(silent time.Duration) // called to report a silence; may be nil
	died     func(auditlog.ModelCall)   // called once, with the last failure; nil if that does not end the session
	last     auditlog.ModelCall
	timer    *time.Timer

	lastPiece atomic.Int64 // time of the last piece of an answer, in nanoseconds since first; 0 if silence already has it
	first     time.Time    // when the first request began: times by the monotonic clock, which stops while the machine sleeps
}

// onSilence sets report, which is called from a separate goroutine when the model is silent
// for a long time. After limit a silent model counts as dead; 0 means never.
func (v *modelHealth) onSilence(limit time.Duration, report func(silent time.Duration)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.limit, v.report = limit, report
	v.arm()
}

// onDeath sets dead, which is called when the model counts as dead.
func (v *modelHealth) onDeath(dead func(auditlog.ModelCall)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.died = dead
	v.arm()
}

// stop ends the reports of onSilence and onDeath.
func (v *modelHealth) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.died, v.report = nil, nil
	v.arm()
}

// endsSession reports whether a dead model ends the session.
func (v *modelHealth) endsSession() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.died != nil
}

func (v *modelHealth) began() {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if v.first.IsZero() {
		v.first = now
	}
	v.failures.began()
	v.silence.began(now)
	v.arm()
}

// pieceReceived records a piece of an answer. It is called for every piece of a stream, so
// it leaves all other work to the timer. The request began earlier, so first is set.
func (v *modelHealth) pieceReceived() { v.lastPiece.Store(int64(max(1, time.Since(v.first)))) }

func (v *modelHealth) ended(call auditlog.ModelCall) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	v.notePieces()
	v.failures.ended(now, call.Outcome)
	v.failures.retryAfter(now, retryAfter(call))
	v.silence.ended(now, call.Outcome)
	if failed(call) {
		v.last = call
	}
	v.arm()
}

// longestSilence returns the longest reported silence; 0 for none.
func (v *modelHealth) longestSilence() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.notePieces()
	return v.silence.longest(time.Now()).Round(100 * time.Millisecond)
}

// notePieces applies the records of pieceReceived.
func (v *modelHealth) notePieces() {
	if at := v.lastPiece.Swap(0); at != 0 {
		v.silence.pieceReceived(v.first.Add(time.Duration(at)))
	}
}

// arm sets the timer to the next event: the model's death, or a report of its silence.
func (v *modelHealth) arm() {
	if v.timer != nil {
		v.timer.Stop()
	}
	var first time.Time
	for _, due := range []func() (time.Time, bool){v.deadAt, v.exhaustedAt, v.reportAt} {
		if at, ok := due(); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		v.timer = time.AfterFunc(time.Until(first), v.check)
	}
}

// deadAt, exhaustedAt and reportAt return when the model counts as dead because of
// failures, when it counts as dead because of silence, and when the silence is reported.
func (v *modelHealth) deadAt() (time.Time, bool) {
	at, ok := v.failures.due()
	return at, ok && v.died != nil
}

func (v *modelHealth) exhaustedAt() (time.Time, bool) {
	at, ok := v.silence.reaches(v.limit)
	return at, ok && v.died != nil && v.limit > 0
}

func (v *modelHealth) reportAt() (time.Time, bool) {
	at, ok := v.silence.reaches(v.silence.nextReport(v.limit))
	return at, ok && v.report != nil
}

// check handles the timer, which may fire after the state has changed. It calls callbacks
// without the lock.
func (v *modelHealth) check() {
	v.mu.Lock()
	now := time.Now()
	v.notePieces()
	past := func(at time.Time, ok bool) bool { return ok && !now.Before(at) }
	dead, report := v.died, v.report
	length, last := v.silence.length(now), v.last
	switch {
	case past(v.exhaustedAt()):
		v.died, v.report, report = nil, nil, nil
		last = auditlog.ModelCall{Generates: true, Outcome: auditlog.Silent, Millis: v.limit.Milliseconds()}
	case past(v.deadAt()):
		v.died, v.report, report = nil, nil, nil
	case past(v.reportAt()):
		if next := v.silence.nextReport(v.limit); length < 2*next { // the timer was not late
			length = next
		}
		v.silence.reported, dead = length, nil
	default:
		dead, report = nil, nil
	}
	v.arm()
	v.mu.Unlock()
	if dead != nil {
		dead(last)
	}
	if report != nil {
		report(length)
	}
}
