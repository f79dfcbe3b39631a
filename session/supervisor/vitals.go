package supervisor

import (
	"sync"
	"sync/atomic"
	"time"

	"aibox/session"
)

// vitals connects the health of the model, and its silence, to the clock.
type vitals struct {
	mu      sync.Mutex
	health  health
	silence silence
	limit   time.Duration              // of the silence; 0 for none
	tell    func(silent time.Duration) // called when the silence is to be told; may be nil
	dead    func(session.ModelCall)    // called once, with the last failure; nil when nobody minds
	last    session.ModelCall
	timer   *time.Timer

	heard atomic.Int64 // when the last piece of an answer came, in nanoseconds since first; 0 when silence knows
	first time.Time    // when the first request began: times by the monotonic clock, which stops while the machine sleeps
}

// listen has tell called, from a goroutine of its own, when the model is silent for
// long. limit is how long it may be silent before it counts as dead; 0 for ever.
func (v *vitals) listen(limit time.Duration, tell func(silent time.Duration)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.limit, v.tell = limit, tell
	v.arm()
}

// watch has dead called when the model counts as dead.
func (v *vitals) watch(dead func(session.ModelCall)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dead = dead
	v.arm()
}

// stop ends watch and listen.
func (v *vitals) stop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.dead, v.tell = nil, nil
	v.arm()
}

// watched reports whether the session is ended when its model counts as dead.
func (v *vitals) watched() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dead != nil
}

func (v *vitals) began() {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	if v.first.IsZero() {
		v.first = now
	}
	v.health.began()
	v.silence.began(now)
	v.arm()
}

// hears notes a piece of an answer. It is called for every piece of a stream, so it
// leaves everything else to the timer, which looks when it has run down. The request
// began before, so first is set.
func (v *vitals) hears() { v.heard.Store(int64(max(1, time.Since(v.first)))) }

func (v *vitals) ended(call session.ModelCall) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now()
	v.listened()
	v.health.ended(now, call.Outcome)
	v.health.asked(now, retryAfter(call))
	v.silence.ended(now, call.Outcome)
	if failed(call) {
		v.last = call
	}
	v.arm()
}

// silent is the longest silence that was told; 0 for none.
func (v *vitals) silent() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.listened()
	return v.silence.longest(time.Now()).Round(100 * time.Millisecond)
}

// listened tells silence what hears has noted.
func (v *vitals) listened() {
	if at := v.heard.Swap(0); at != 0 {
		v.silence.heard(v.first.Add(time.Duration(at)))
	}
}

// arm sets the timer to what is due first: the model's death, or word of its silence.
func (v *vitals) arm() {
	if v.timer != nil {
		v.timer.Stop()
	}
	var first time.Time
	for _, due := range []func() (time.Time, bool){v.deadAt, v.exhaustedAt, v.tellAt} {
		if at, ok := due(); ok && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	if !first.IsZero() {
		v.timer = time.AfterFunc(time.Until(first), v.check)
	}
}

// deadAt, exhaustedAt and tellAt are when the model counts as dead for its failures,
// when it does for its silence, and when that is to be told.
func (v *vitals) deadAt() (time.Time, bool) {
	at, ok := v.health.due()
	return at, ok && v.dead != nil
}

func (v *vitals) exhaustedAt() (time.Time, bool) {
	at, ok := v.silence.reaches(v.limit)
	return at, ok && v.dead != nil && v.limit > 0
}

func (v *vitals) tellAt() (time.Time, bool) {
	at, ok := v.silence.reaches(v.silence.next(v.limit))
	return at, ok && v.tell != nil
}

// check may come late, when things have changed. It calls out without the lock.
func (v *vitals) check() {
	v.mu.Lock()
	now := time.Now()
	v.listened()
	past := func(at time.Time, ok bool) bool { return ok && !now.Before(at) }
	dead, tell := v.dead, v.tell
	length, last := v.silence.length(now), v.last
	switch {
	case past(v.exhaustedAt()):
		v.dead, v.tell, tell = nil, nil, nil
		last = session.ModelCall{Generates: true, Outcome: session.Silent, Millis: v.limit.Milliseconds()}
	case past(v.deadAt()):
		v.dead, v.tell, tell = nil, nil, nil
	case past(v.tellAt()):
		if next := v.silence.next(v.limit); length < 2*next { // the timer was in time
			length = next
		}
		v.silence.told, dead = length, nil
	default:
		dead, tell = nil, nil
	}
	v.arm()
	v.mu.Unlock()
	if dead != nil {
		dead(last)
	}
	if tell != nil {
		tell(length)
	}
}
