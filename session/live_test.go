package session

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/netguard"
)

func TestNumbersArePublishedAtMostOnceASecondAndNotWhileNothingChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pulse
		var times []time.Duration
		begun := time.Now()
		p.changed() // before the start: nobody wants it
		p.start(func() { times = append(times, time.Since(begun)) })
		for range 50 {
			p.changed()
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(time.Hour)
		p.now()
		p.stop()
		p.changed()
		time.Sleep(time.Hour)
		synctest.Wait()
		want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}
		if len(times) != len(want)+2 {
			t.Fatalf("published at %v", times)
		}
		for i := range want {
			if times[i] != want[i] {
				t.Errorf("published at %v", times)
			}
		}
	})
}

func TestOutputAloneIsPublishedSeldomAndGoesWithTheNextNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pulse
		var times []time.Duration
		begun := time.Now()
		p.start(func() { times = append(times, time.Since(begun)) })
		for range 120 { // twelve seconds of a spinner
			p.printed()
			time.Sleep(100 * time.Millisecond)
		}
		p.changed()
		p.printed()
		time.Sleep(time.Hour)
		p.stop()
		want := []time.Duration{0, 5 * time.Second, 10 * time.Second, 12 * time.Second}
		if len(times) != len(want)+1 || !slices.Equal(times[:len(want)], want) {
			t.Errorf("published at %v", times)
		}
	})
}

func TestARunningSessionIsListedWithWhatItHasComeToSoFar(t *testing.T) {
	sessions := New(Deps{})
	sessions.store = testStore(t)
	id, err := sessions.store.create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	storeSession(t, sessions.store, id, State{Phase: Running})
	deadline := time.Now().Add(time.Hour).UTC()
	err = sessions.store.writeLive(id, Live{
		Tokens: Tokens{Requests: 2, Input: 40, Output: 2}, Deadline: deadline,
		Refused: []Refusal{{What: "name", Target: "example.org", Times: 3}}, Requests: []Request{{Session: id, ID: 1}},
		Calls: 4, Output: 500,
	})
	if err != nil {
		t.Fatal(err)
	}
	briefs, err := sessions.Briefs()
	if err != nil || len(briefs) != 1 {
		t.Fatalf("%+v, %v", briefs, err)
	}
	if b := briefs[0]; b.Tokens != 42 || b.Refused != 3 || b.Waiting != 1 || !b.Deadline.Equal(deadline) || b.Done != 507 {
		t.Errorf("%+v", b)
	}
	if open, err := sessions.Requests(); err != nil || len(open) != 0 {
		t.Errorf("a session whose supervisor died asks %+v, %v", open, err)
	}
	held, err := lock(sessions.store.dir(id))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if open, err := sessions.Requests(); err != nil || len(open) != 1 || open[0].Session != id {
		t.Errorf("asks %+v, %v", open, err)
	}
	storeSession(t, sessions.store, id, State{Phase: Ended, Result: &Result{Tokens: Tokens{Requests: 1, Input: 7}}})
	if briefs, err = sessions.Briefs(); err != nil || briefs[0].Tokens != 7 || briefs[0].Waiting != 0 {
		t.Errorf("after the end: %+v, %v", briefs, err)
	}
	if open, err := sessions.Requests(); err != nil || len(open) != 0 {
		t.Errorf("asks after its end: %+v, %v", open, err)
	}
	if live, err := sessions.Live(id); err != nil || live.Tokens.Input != 7 || live.Calls != 1 {
		t.Errorf("%+v, %v", live, err)
	}
}

func TestNumbersThatCannotBeWrittenReplaceNothing(t *testing.T) {
	store := testStore(t)
	id, err := store.create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.writeLive(id, Live{Output: 1}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(store.dir(id), liveFile+".next")); err != nil {
		t.Fatal(err)
	}
	if err := store.writeLive(id, Live{Output: 2}); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("writing ends with %v", err)
	}
	if live := store.live(id); live.Output != 1 {
		t.Errorf("the numbers are now %+v", live)
	}
}

// watched is a session whose supervisor answers, and its supervisor.
func watched(t *testing.T) (*Sessions, *supervisor) {
	t.Helper()
	dirs := paths.Dirs{State: t.TempDir(), Data: t.TempDir()}
	sessions, store := New(Deps{Dirs: dirs}), newStore(dirs)
	id, err := store.create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	s := &supervisor{id: id, store: store, dir: store.dir(id), ended: make(chan struct{})}
	if err := store.writeSpec(id, Spec{ID: id, Network: netguard.None}); err != nil {
		t.Fatal(err)
	}
	if err := store.writeState(id, State{Phase: Running}); err != nil {
		t.Fatal(err)
	}
	s.record = newRecord(t, s.dir)
	if s.held, err = store.lock(id); err != nil {
		t.Fatal(err)
	}
	if s.log, err = store.openLog(id); err != nil {
		t.Fatal(err)
	}
	s.asking.record = s.answered
	if _, err := s.startControl(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.made.Run(t.Context(), 0) })
	s.tally.begin()
	s.pulse.start(s.publish)
	t.Cleanup(s.pulse.stop) // what was about to be published finds the folder still there
	return sessions, s
}

// newRecord is a recorder of output in dir.
func newRecord(t *testing.T, dir string) *recorder {
	t.Helper()
	r, err := newRecorder(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.finish() })
	return r
}

// leave ends the supervisor as its process would.
func (s *supervisor) leave(t *testing.T, result Result) {
	t.Helper()
	s.pulse.stop()
	if err := s.store.writeState(s.id, State{Phase: Ended, Result: &result}); err != nil {
		t.Fatal(err)
	}
	if err := s.log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.held.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhoWatchesASessionSeesWhatHappensUntilItsEnd(t *testing.T) {
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
	live := func(e audit.Event) (live Live) {
		t.Helper()
		if err := json.Unmarshal(e.Data, &live); err != nil {
			t.Fatal(err)
		}
		return live
	}
	next(LiveChanged)
	s.refused("name", "example.org", "no name is resolved outside")
	if e := next(audit.AccessRefused); e.Seq != 0 {
		t.Errorf("%+v", e)
	}
	s.modelCalled(ModelCall{Method: "POST", Path: "/v1/responses", Status: 200, Input: 5, Output: 2, Generates: true})
	next(audit.ModelAnswered)
	s.refused("name", "example.org", "no name is resolved outside") // again: only a number grows
	for {
		if l := live(next(LiveChanged)); len(l.Refused) == 1 && l.Refused[0].Times == 2 && l.Tokens.Input == 5 && l.Calls == 1 {
			break
		}
	}
	s.leave(t, Result{Tokens: Tokens{Requests: 9, Input: 99}})
	if err := <-ended; err != nil {
		t.Errorf("the end is %v", err)
	}
	close(events)
	last := audit.Event{}
	for e := range events {
		last = e
	}
	if last.Type != LiveChanged || live(last).Tokens.Input != 99 {
		t.Errorf("the last word is %+v", last)
	}
}

func TestASessionThatHasEndedIsWatchedFromItsLog(t *testing.T) {
	sessions, s := watched(t)
	for range 3 {
		s.audit(audit.StopRequested, nil)
	}
	s.leave(t, Result{})
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
	s.ask(Request{What: "x", Question: "well?"}, func() error { done++; return nil })
	open, err := sessions.Requests()
	if err != nil || len(open) != 1 || open[0].Session != s.id || open[0].Question != "well?" {
		t.Fatalf("%+v, %v", open, err)
	}
	if err := sessions.Answer(t.Context(), s.id, open[0].ID, true); err != nil || done != 1 {
		t.Errorf("%v, done %d times", err, done)
	}
	if err := sessions.Answer(t.Context(), s.id, open[0].ID, true); fault.KindOf(err) != fault.Conflict || done != 1 {
		t.Errorf("again: %v, done %d times", err, done)
	}
	if err := sessions.Answer(t.Context(), s.id, 9, true); fault.KindOf(err) != fault.Usage {
		t.Errorf("one that was never asked: %v", err)
	}
	if err := sessions.Extend(t.Context(), s.id, time.Hour); fault.KindOf(err) != fault.Usage {
		t.Errorf("more time for a session without a limit: %v", err)
	}
	if open, err := sessions.Requests(); err != nil || len(open) != 0 {
		t.Errorf("still open: %+v, %v", open, err)
	}
	s.leave(t, Result{})
	if err := sessions.Extend(t.Context(), s.id, time.Hour); fault.KindOf(err) != fault.Conflict {
		t.Errorf("after the end: %v", err)
	}
}

func TestAnEventThatIsTooLongIsNotReadForEver(t *testing.T) {
	_, s := watched(t)
	const maxEvent = 1 << 20
	s.news.send(Live{Requests: []Request{{Question: string(make([]byte, maxEvent))}}})
	s.audit(audit.StopRequested, nil)
	err := dialControl(s.dir, answerTime).events(t.Context(), 0, func(e audit.Event) error {
		if len(e.Data) > maxEvent {
			t.Error("it is visited")
		}
		return nil
	})
	if err == nil {
		t.Error("no error")
	}
}

func TestTheNumbersOfACrashedSessionAreItsResult(t *testing.T) {
	d := newDesk(t)
	ws := d.prepared("00001-a")
	d.must(d.store.write("00001-a", stateFile, State{Phase: Running, Workspace: ws, Started: now()}))
	d.must(d.store.writeLive("00001-a", Live{Tokens: Tokens{Input: 3}, Refused: []Refusal{{Target: "x", Times: 2}}}))
	d.noDocker = errors.New("no Docker here")
	_, err := d.Repair(t.Context())
	d.must(err)
	session, err := d.store.load("00001-a")
	d.must(err)
	if r := session.State.Result; r == nil || r.Tokens.Input != 3 || len(r.Refused) != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(d.store.dir("00001-a"), liveFile)); err == nil {
		t.Error("they stand there twice")
	}
}
