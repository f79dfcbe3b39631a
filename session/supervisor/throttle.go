package supervisor

import (
	"sync"
	"time"
)

// liveTime is the shortest time between two updates of a running session's counters, and so
// the maximum age of the published ones. Questions do not wait for it. If only the output
// grows, the update waits for outputTime, since many agents redraw all the time.
const (
	liveTime   = time.Second
	outputTime = 5 * time.Second
)

// throttle calls a function soon after it is triggered, but at most once every liveTime.
// It is safe for concurrent use; before start it does nothing.
type throttle struct {
	mu    sync.Mutex
	do    func()
	doing sync.Mutex // held while do runs
	last  time.Time
	timer *time.Timer // nil unless do is due
	due   time.Time   // when the timer fires
}

// start calls do and starts the throttle.
func (p *throttle) start(do func()) {
	p.mu.Lock()
	p.do = do
	p.mu.Unlock()
	p.flush()
}

// trigger schedules do.
func (p *throttle) trigger() { p.within(liveTime) }

// triggerLate schedules do for a longer time after the last call.
func (p *throttle) triggerLate() { p.within(outputTime) }

// within schedules do for the end of the pause after the last call.
func (p *throttle) within(pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	due := p.last.Add(pause)
	switch {
	case p.do == nil, p.timer != nil && !due.Before(p.due):
		return
	case p.timer != nil:
		p.timer.Stop()
	}
	p.due, p.timer = due, time.AfterFunc(time.Until(due), p.fire)
}

// flush calls do now and waits for it to return.
func (p *throttle) flush() {
	p.mu.Lock()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.mu.Unlock()
	p.fire()
}

func (p *throttle) fire() {
	p.doing.Lock()
	defer p.doing.Unlock()
	p.mu.Lock()
	p.timer, p.last = nil, time.Now()
	do := p.do
	p.mu.Unlock()
	if do != nil {
		do()
	}
}

// stop calls do for the last time.
func (p *throttle) stop() {
	p.flush()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.do = nil
	if p.timer != nil {
		p.timer.Stop()
	}
}
