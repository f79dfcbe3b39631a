package supervisor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/audit"
	"aibox/internal/paths"
	"aibox/session"
	"aibox/session/auditlog"
)

// delivering holds a session's log that is delivered to run, and the notices about the
// delivery.
func delivering(t *testing.T, run func(context.Context, auditlog.Event) error) (*commandDelivery, *audit.Log, session.Store, chan string) {
	t.Helper()
	store := session.NewStore(paths.Dirs{State: t.TempDir(), Data: t.TempDir()})
	if err := store.CreateChosen("0dq4f-codex"); err != nil {
		t.Fatal(err)
	}
	log, err := store.OpenLog("0dq4f-codex")
	if err != nil {
		t.Fatal(err)
	}
	d, err := auditlog.Deliver(t.Context(), store, "0dq4f-codex", run)
	if err != nil {
		t.Fatal(err)
	}
	notices := make(chan string, 100)
	q := new(commandDelivery)
	q.start(log, d, func(text string) { notices <- text })
	t.Cleanup(q.stop)
	return q, log, store, notices
}

func logEvents(t *testing.T, log *audit.Log, n int) {
	t.Helper()
	for range n {
		if _, err := log.Append(audit.StopRequested, nil); err != nil {
			t.Fatal(err)
		}
	}
}

func upTo(n int) []int {
	var all []int
	for i := range n {
		all = append(all, i)
	}
	return all
}

func TestASlowAuditCommandGetsEveryEventInOrderAndNeverBlocks(t *testing.T) {
	var got []int
	hold := make(chan struct{})
	q, log, _, notices := delivering(t, func(_ context.Context, e auditlog.Event) error {
		<-hold
		got = append(got, e.Seq)
		return nil
	})
	logEvents(t, log, 3000) // while the command hangs
	if left := q.await(log.Next(), time.Millisecond); left != 3000 {
		t.Errorf("%d are left", left)
	}
	close(hold)
	if left := q.await(log.Next(), time.Minute); left != 0 || q.summary(left) != "" {
		t.Errorf("%d are left", left)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	<-q.done
	if !slices.Equal(got, upTo(3000)) || len(notices) != 0 {
		t.Errorf("%d events", len(got))
	}
}

func TestUndeliveredEventsAreDeliveredLater(t *testing.T) {
	var got []int
	begun := make(chan struct{}, 100)
	q, log, store, _ := delivering(t, func(ctx context.Context, e auditlog.Event) error {
		if e.Seq == 2 {
			begun <- struct{}{}
			<-ctx.Done()
			return ctx.Err()
		}
		got = append(got, e.Seq)
		return nil
	})
	logEvents(t, log, 5)
	<-begun
	if left := q.await(log.Next(), time.Millisecond); left != 3 || q.summary(left) != "the audit command failed for 0 events, and 3 events are delivered later" {
		t.Errorf("%d are left", left)
	}
	q.stop() // as after a kill of the supervisor
	d, err := auditlog.Deliver(t.Context(), store, "0dq4f-codex", func(_ context.Context, e auditlog.Event) error { got = append(got, e.Seq); return nil })
	if err != nil {
		t.Fatal(err)
	}
	var again commandDelivery
	again.start(log, d, nil)
	if left := again.await(log.Next(), time.Minute); left != 0 || !slices.Equal(got, upTo(5)) {
		t.Errorf("%v", got)
	}
	again.stop()
}

func TestDeliveryEndsWhenTheSessionIsRemoved(t *testing.T) {
	begun, hold := make(chan struct{}, 100), make(chan struct{})
	q, log, store, _ := delivering(t, func(context.Context, auditlog.Event) error { begun <- struct{}{}; <-hold; return nil })
	logEvents(t, log, 5)
	<-begun
	q.summary(0)
	if err := auditlog.RemoveKeepingLog(t.Context(), store, "0dq4f-codex", auditlog.Command{}); err != nil {
		t.Fatal(err)
	}
	close(hold)
	<-q.done
	if len(begun) != 0 {
		t.Errorf("%d more events were delivered", len(begun))
	}
}

func TestAFailingAuditCommandIsReportedOnce(t *testing.T) {
	q, log, _, notices := delivering(t, func(context.Context, auditlog.Event) error { return errors.New("exit\x1b status 3") })
	logEvents(t, log, 5)
	text := q.summary(q.await(log.Next(), time.Minute))
	if text != "the audit command failed for 5 events" || len(notices) != 1 {
		t.Errorf("%q, %d notices", text, len(notices))
	}
	if notice := <-notices; !strings.Contains(notice, `exit\x1b status 3`) {
		t.Errorf("%q", notice)
	}
}

func TestTheEndOfASessionDoesNotWaitForAHangingAuditCommand(t *testing.T) {
	_, s := watched(t)
	d, err := auditlog.Deliver(t.Context(), s.store, s.id, func(ctx context.Context, _ auditlog.Event) error { <-ctx.Done(); return ctx.Err() })
	if err != nil {
		t.Fatal(err)
	}
	s.commands.start(s.log, d, s.postNotice)
	s.audit(audit.StopRequested, nil)
	begin := time.Now()
	s.closeLog()
	if took := time.Since(begin); took > 3*commandDrainTimeout {
		t.Errorf("it took %v", took)
	}
	done := make(chan struct{})
	go func() { defer close(done); s.deliverRest() }()
	for { // other processes can use the session in the meantime
		held, err := s.store.Lock(s.id)
		if errors.Is(err, session.ErrLocked) {
			continue
		}
		if err == nil {
			err = held.Close()
		}
		if err != nil {
			t.Error(err)
		}
		break
	}
	s.commands.cancel() // as after lateDelivery
	<-done
}
