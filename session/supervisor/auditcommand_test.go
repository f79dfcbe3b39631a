package supervisor

import (
	"context"
	"errors"
	"strings"
	"testing"

	"aibox/audit"
	"aibox/session"
)

// queue is a started queue whose command is run, and the notices about it.
func queue(t *testing.T, size int, run func(context.Context, session.Logged) error) (*commandQueue, context.CancelFunc, chan string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	notices := make(chan string, 100)
	q := &commandQueue{run: run, notice: func(text string) { notices <- text }}
	q.start(ctx, size)
	t.Cleanup(cancel)
	return q, cancel, notices
}

func eventNumber(seq int) session.Logged {
	return session.Logged{Session: "0dq4f-codex", Event: audit.Event{Seq: seq, Type: audit.StopRequested}}
}

func TestTheAuditCommandGetsEveryEventInOrder(t *testing.T) {
	var got []int
	q, cancel, notices := queue(t, 100, func(_ context.Context, e session.Logged) error { got = append(got, e.Seq); return nil })
	for i := range 50 {
		q.put(eventNumber(i))
	}
	if text := q.close(cancel); text != "" || len(got) != 50 || len(notices) != 0 {
		t.Errorf("%q, %v", text, got)
	}
	for i, seq := range got {
		if seq != i {
			t.Errorf("%v", got)
			break
		}
	}
	q.put(eventNumber(50)) // after the end
}

func TestASlowAuditCommandSkipsEventsAndNeverBlocks(t *testing.T) {
	hold, begun := make(chan struct{}), make(chan struct{}, 100)
	q, cancel, notices := queue(t, 2, func(context.Context, session.Logged) error { begun <- struct{}{}; <-hold; return nil })
	q.put(eventNumber(0))
	<-begun
	for i := range 9 { // two wait in the queue
		q.put(eventNumber(i + 1))
	}
	close(hold)
	if text := <-notices; !strings.Contains(text, "too slow") {
		t.Error(text)
	}
	if text := q.close(cancel); text != "the audit command failed for 0 events, and 7 events were skipped" || len(notices) != 0 {
		t.Errorf("%q, %d more notices", text, len(notices))
	}
}

func TestAFailingAuditCommandIsReportedOnce(t *testing.T) {
	q, cancel, notices := queue(t, 100, func(context.Context, session.Logged) error { return errors.New("exit\x1b status 3") })
	for i := range 5 {
		q.put(eventNumber(i))
	}
	text := q.close(cancel)
	if text != "the audit command failed for 5 events, and 0 events were skipped" || len(notices) != 1 {
		t.Errorf("%q, %d notices", text, len(notices))
	}
	if notice := <-notices; !strings.Contains(notice, `exit\x1b status 3`) {
		t.Errorf("%q", notice)
	}
}

func TestTheEndOfASessionDoesNotWaitForAHangingAuditCommand(t *testing.T) {
	q, cancel, _ := queue(t, 100, func(ctx context.Context, _ session.Logged) error { <-ctx.Done(); return ctx.Err() })
	for i := range 3 {
		q.put(eventNumber(i))
	}
	cancel() // as the timer would
	if text := q.close(cancel); text != "the audit command failed for 0 events, and 3 events were skipped" {
		t.Error(text)
	}
}
