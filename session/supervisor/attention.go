package supervisor

import (
	"sync"

	"aibox/agents"
)

// attention watches the terminal of an interactive agent, and publishes whether the agent
// waits for the user. It checks soon after output, at most once every liveTime.
type attention struct {
	session *run
	looking throttle

	mu      sync.Mutex
	waiting bool
}

// start starts watching the agent.
func (a *attention) start(agent agents.Agent) {
	if a.session.term != nil {
		a.looking.start(func() { a.look(agent) })
	}
}

// trigger schedules a check of the terminal.
func (a *attention) trigger() { a.looking.trigger() }

// look checks the terminal.
func (a *attention) look(agent agents.Agent) {
	shown, called := a.session.term.Shown()
	waiting := called || agents.Waits(agent, shown)
	a.mu.Lock()
	changed := a.waiting != waiting
	a.waiting = waiting
	a.mu.Unlock()
	if changed {
		a.session.notifier.setWaiting(waiting)
		a.session.publishing.flush()
	}
}

// stop stops watching. An agent that has ended no longer waits.
func (a *attention) stop() {
	a.looking.stop()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = false
}

// isWaiting reports whether the agent waits for the user.
func (a *attention) isWaiting() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.waiting
}
