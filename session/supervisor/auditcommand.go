package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"aibox/audit"
	"aibox/session/auditlog"
)

// commandDrainTimeout is how long the end of the session waits for the user's audit
// command, and lateDelivery how long the supervisor continues to deliver afterwards, when
// the session is no longer in use. Later commands deliver the rest.
const (
	commandDrainTimeout = 3 * time.Second
	lateDelivery        = time.Minute
)

// commandDelivery sends the events of the session's log to the user's audit command, one at
// a time and in order. It reads them from the log and never delays the session. Its zero
// value has no command.
type commandDelivery struct {
	notice func(string) // called for the first failure
	cancel context.CancelFunc
	done   chan struct{} // closed when all events are delivered or cancel was called; nil without a command

	mu     sync.Mutex
	next   int           // number of the next event to deliver
	moved  chan struct{} // closed and replaced when next changes
	failed int
	quiet  bool // the log is closed, so there are no more notices
}

// start starts the delivery of log.
func (q *commandDelivery) start(log *audit.Log, d *auditlog.Delivery, notice func(string)) {
	ctx, cancel := context.WithCancel(context.Background())
	q.notice, q.cancel, q.done = notice, cancel, make(chan struct{})
	q.next, q.moved = d.Next(), make(chan struct{})
	go func() {
		defer close(q.done)
		defer d.Close()
		err := log.Follow(ctx, d.Next(), func(e audit.Event) error {
			err := d.Pass(ctx, e)
			if errors.Is(err, auditlog.ErrMoved) {
				return err
			}
			q.note(err, e, ctx)
			return ctx.Err()
		})
		if err != nil && ctx.Err() == nil {
			q.tell("the audit command (setting audit-command) gets no more events: " + err.Error())
		}
	}()
}

// note records the result of the command for an event.
func (q *commandDelivery) note(err error, e audit.Event, ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	q.mu.Lock()
	q.next = e.Seq + 1
	close(q.moved)
	q.moved = make(chan struct{})
	if err != nil {
		q.failed++
	}
	first := err != nil && q.failed == 1
	q.mu.Unlock()
	if first {
		q.tell(auditlog.CommandFailure(err) + "; further failures are only counted")
	}
}

// tell shows a notice while the log is open.
func (q *commandDelivery) tell(text string) {
	q.mu.Lock()
	quiet := q.quiet
	q.mu.Unlock()
	if quiet {
		fmt.Fprintln(os.Stderr, text)
		return
	}
	q.notice(text)
}

// await waits until the events before the number end are delivered, at most for limit. It
// returns the number of undelivered events.
func (q *commandDelivery) await(end int, limit time.Duration) (left int) {
	if q.done == nil {
		return 0
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		q.mu.Lock()
		left, moved := end-q.next, q.moved
		q.mu.Unlock()
		if left <= 0 {
			return 0
		}
		select {
		case <-moved:
		case <-q.done:
			return left
		case <-timer.C:
			return left
		}
	}
}

// summary describes how often the command failed and whether events are undelivered; "" if
// neither is the case. No notices are shown after it.
func (q *commandDelivery) summary(left int) string {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.quiet = true
	switch {
	case q.failed+left == 0:
		return ""
	case left == 0:
		return fmt.Sprintf("the audit command failed for %d events", q.failed)
	default:
		return fmt.Sprintf("the audit command failed for %d events, and %d events are delivered later", q.failed, left)
	}
}

// stop ends the delivery. A later command continues it.
func (q *commandDelivery) stop() {
	if q.done != nil {
		q.cancel()
		<-q.done
	}
}
