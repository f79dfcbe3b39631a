package supervisor

import (
	"sync"
	"time"
)

// liveTime is the shortest time between two numbers of a running session, which is
// also how stale they may be. Questions do not wait for it, and output alone waits for
// outputTime, since many agents draw all the time.
const (
	liveTime   = time.Second
	outputTime = 5 * time.Second
)

// throttle calls a function soon after it is triggered, but not more often than every
// liveTime, and not while nothing changes. It is safe for
// concurrent use; before start it does nothing.
type throttle struct {
	mu    sync.Mutex
	do    func()
	doing sync.Mutex // held while do runs
	last  time.Time
	timer *time.Timer // nil unless do is due
	due   time.Time   // when the timer fires
}

// start begins, with do at once.
func (p *throttle) start(do func()) {
	p.mu.Lock()
	p.do = do
	p.mu.Unlock()
	p.flush()
}

// trigger has do done soon.
func (p *throttle) trigger() { p.within(liveTime) }

// triggerLate has do done a while after the last time.
func (p *throttle) triggerLate() { p.within(outputTime) }

// within has do done once that much time has gone by since the last time.
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

// flush has do done at once, and waits for that.
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

// stop has do done a last time.
func (p *throttle) stop() {
	p.flush()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.do = nil
	if p.timer != nil {
		p.timer.Stop()
	}
}
