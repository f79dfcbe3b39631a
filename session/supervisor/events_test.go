package supervisor

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"aibox/audit"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/control"
	"aibox/session/manager"
	"aibox/session/output"
)

// watched is a session with its supervisor, which answers requests.
func watched(t *testing.T) (*manager.Manager, *supervisor) {
	t.Helper()
	dirs := paths.Dirs{State: t.TempDir(), Data: t.TempDir()}
	sessions, store := manager.New(manager.Deps{Dirs: dirs}), session.NewStore(dirs)
	id, err := store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := newSupervisor(&run{id: id, store: store, dir: store.Dir(id), ended: make(chan struct{})})
	if err := store.WriteSpec(id, session.Spec{ID: id, Run: config.Run{Network: netguard.None.String()}}); err != nil {
		t.Fatal(err)
	}
	if err := store.WriteState(id, session.State{Phase: session.Running}); err != nil {
		t.Fatal(err)
	}
	s.record = newRecord(t, s.dir)
	if s.held, err = store.Lock(id); err != nil {
		t.Fatal(err)
	}
	if s.log, err = store.OpenLog(id); err != nil {
		t.Fatal(err)
	}
	s.requests.record = s.answered
	if _, err := s.startControl(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.undo.Run(t.Context(), 0) })
	s.counters.start()
	s.publishing.start(s.publish)
	t.Cleanup(s.publishing.stop) // pending updates still find the folder
	return sessions, s
}

// newRecord returns a recorder of output in dir.
func newRecord(t *testing.T, dir string) *output.Recorder {
	t.Helper()
	r, err := output.NewRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

// leave ends the supervisor like the end of its process.
func (s *supervisor) leave(t *testing.T, result session.Result) {
	t.Helper()
	s.publishing.stop()
	if err := s.store.WriteState(s.id, session.State{Phase: session.Ended, Started: time.Now(), Ended: time.Now(), Result: &result}); err != nil {
		t.Fatal(err)
	}
	if err := s.log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.held.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestAWatcherSeesEveryEventUntilTheSessionEnds(t *testing.T) {
	sessions, s := watched(t)
	events := make(chan audit.Event, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- sessions.Watch(t.Context(), s.id, 0, func(e audit.Event) error {
			events <- e
			return nil
		})
	}()
	next := func(want audit.Type) audit.Event {
		t.Helper()
		for e := range events {
			if e.Type == want {
				return e
			}
		}
		return audit.Event{}
	}
	live := func(e audit.Event) (live session.Live) {
		t.Helper()
		if err := json.Unmarshal(e.Data, &live); err != nil {
			t.Fatal(err)
		}
		return live
	}
	next(session.LiveChanged)
	s.nameRefused("example.org", "A", s.policy.refusedName)
	if e := next(audit.DNSRefused); e.Seq != 0 {
		t.Errorf("%+v", e)
	}
	s.modelCalled(auditlog.ModelCall{Method: "POST", Path: "/v1/responses", Status: 200, Input: 5, Output: 2, Generates: true})
	next(audit.ModelAnswered)
	s.nameRefused("example.org", "A", s.policy.refusedName) // a repetition: only a number increases
	for {
		if l := live(next(session.LiveChanged)); len(l.Refused) == 1 && l.Refused[0].Times == 2 && l.Tokens.Input == 5 && l.Calls == 1 {
			break
		}
	}
	s.leave(t, session.Result{Tokens: session.Tokens{Requests: 9, Input: 99}})
	if err := <-ended; err != nil {
		t.Errorf("the end is %v", err)
	}
	close(events)
	last := audit.Event{}
	for e := range events {
		last = e
	}
	if last.Type != session.LiveChanged || live(last).Tokens.Input != 99 {
		t.Errorf("the last word is %+v", last)
	}
}

func TestEventsOfAnEndedSessionAreReadFromItsLog(t *testing.T) {
	sessions, s := watched(t)
	for range 3 {
		s.audit(audit.StopRequested, nil)
	}
	s.leave(t, session.Result{})
	var seqs []int
	err := sessions.Watch(t.Context(), s.id, 1, func(e audit.Event) error {
		seqs = append(seqs, e.Seq)
		return nil
	})
	if err != nil || len(seqs) != 3 || seqs[0] != 1 || seqs[1] != 2 || seqs[2] != -1 {
		t.Errorf("%v, %v", seqs, err)
	}
}

func TestARequestIsAnsweredThroughTheControlSocketOnce(t *testing.T) {
	sessions, s := watched(t)
	done := 0
	s.ask(session.Request{What: "x", Question: "well?"}, func(session.Answer) error { done++; return nil })
	open, err := sessions.Requests()
	if err != nil || len(open) != 1 || open[0].Session != s.id || open[0].Question != "well?" {
		t.Fatalf("%+v, %v", open, err)
	}
	if err := sessions.Answer(t.Context(), s.id, open[0].ID, session.AnswerYes); err != nil || done != 1 {
		t.Errorf("%v, done %d times", err, done)
	}
	if err := sessions.Answer(t.Context(), s.id, open[0].ID, session.AnswerYes); fault.KindOf(err) != fault.Usage || !errors.Is(err, session.ErrWrongState) || done != 1 {
		t.Errorf("again: %v, done %d times", err, done)
	}
	if err := sessions.Answer(t.Context(), s.id, 9, session.AnswerYes); fault.KindOf(err) != fault.Usage {
		t.Errorf("one that was never asked: %v", err)
	}
	if err := sessions.Extend(t.Context(), s.id, time.Hour); fault.KindOf(err) != fault.Usage {
		t.Errorf("more time for a session without a limit: %v", err)
	}
	if open, err := sessions.Requests(); err != nil || len(open) != 0 {
		t.Errorf("still open: %+v, %v", open, err)
	}
	s.leave(t, session.Result{})
	if err := sessions.Extend(t.Context(), s.id, time.Hour); fault.KindOf(err) != fault.Usage || err.Error() != string(s.id)+" has ended, so it cannot be given more time" {
		t.Errorf("after the end: %v", err)
	}
}

func TestAnOverlongEventIsAnError(t *testing.T) {
	_, s := watched(t)
	const maxEvent = 1 << 20
	s.updates.send(session.Live{Requests: []session.Request{{Question: string(make([]byte, maxEvent))}}})
	s.audit(audit.StopRequested, nil)
	err := control.Dial(s.dir, control.AnswerTimeout).Events(t.Context(), 0, func(e audit.Event) error {
		if len(e.Data) > maxEvent {
			t.Error("it is visited")
		}
		return nil
	})
	if err == nil {
		t.Error("no error")
	}
}
