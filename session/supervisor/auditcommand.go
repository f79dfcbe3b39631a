package supervisor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"aibox/session"
)

// maxQueued bounds the events that wait for the user's command.
const maxQueued = 1000

// commandDrainTimeout is how long the end of the session waits for the command.
const commandDrainTimeout = 3 * time.Second

// commandQueue passes events to the user's audit command, one at a time and in order. It
// never delays the session: events that find the queue full are skipped and counted. Its
// zero value has no command.
type commandQueue struct {
	run    func(context.Context, session.Logged) error
	notice func(string) // called for the first failure and the first skipped event

	mu      sync.Mutex
	events  chan session.Logged // nil once it is closed
	done    chan struct{}
	skipped int
	failed  int

	reported bool // that events were skipped
}

// start starts the queue of a command.
func (q *commandQueue) start(ctx context.Context, size int) {
	q.events, q.done = make(chan session.Logged, size), make(chan struct{})
	go func(events <-chan session.Logged) {
		defer close(q.done)
		for e := range events {
			q.pass(ctx, e)
		}
	}(q.events)
}

// pass runs the command for one event.
func (q *commandQueue) pass(ctx context.Context, e session.Logged) {
	err := q.run(ctx, e)
	q.mu.Lock()
	failed := err != nil && ctx.Err() == nil
	switch {
	case failed:
		q.failed++
	case err != nil:
		q.skipped++
	}
	firstFailed, firstSkipped := failed && q.failed == 1, q.skipped > 0 && !q.reported
	q.reported = q.reported || firstSkipped
	q.mu.Unlock()
	if firstFailed {
		q.notice(session.AuditCommandFailure(err) + "; further failures are only counted")
	}
	if firstSkipped {
		q.notice("the audit command (setting audit-command) is too slow: events are skipped")
	}
}

// put passes an event on, and never waits.
func (q *commandQueue) put(e session.Logged) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.events == nil {
		return
	}
	select {
	case q.events <- e:
	default:
		q.skipped++
	}
}

// close waits until the command has received all events, for commandDrainTimeout at most. It
// returns how many it did not receive, in a sentence; "" if it received all.
func (q *commandQueue) close(cancel context.CancelFunc) string {
	q.mu.Lock()
	events := q.events
	q.events = nil
	q.mu.Unlock()
	if events == nil {
		return ""
	}
	close(events)
	timer := time.AfterFunc(commandDrainTimeout, cancel)
	<-q.done
	timer.Stop()
	cancel()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.skipped+q.failed == 0 {
		return ""
	}
	return fmt.Sprintf("the audit command failed for %d events, and %d events were skipped", q.failed, q.skipped)
}
