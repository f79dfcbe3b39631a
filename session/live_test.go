package session

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestARunningSessionIsListedWithItsCounters(t *testing.T) {
	sessions := newSessions(Deps{}, testStore(t))
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	storeSession(t, sessions.store, id, State{Phase: Running})
	deadline := time.Now().Add(time.Hour).UTC()
	err = sessions.store.WriteLive(id, Live{
		Tokens: Tokens{Requests: 2, Input: 40, Output: 2, Cost: 0.5, Unpriced: 1}, Deadline: deadline,
		Refused: []Refusal{{What: "name", Target: "example.org", Times: 3}}, Requests: []Request{{Session: id, ID: 1}},
		Calls: 4, Output: 500,
	})
	if err != nil {
		t.Fatal(err)
	}
	briefs, err := sessions.Summaries()
	if err != nil || len(briefs) != 1 {
		t.Fatalf("%+v, %v", briefs, err)
	}
	if b := briefs[0]; b.Tokens != 42 || b.CostText() != "at least $0.50" || b.Refused != 3 || b.Waiting != 1 || !b.Deadline.Equal(deadline) || b.Done != 507 {
		t.Errorf("%+v", b)
	}
	if open, err := sessions.Requests(); err != nil || len(open) != 0 {
		t.Errorf("a session whose supervisor died asks %+v, %v", open, err)
	}
	held, err := lock(sessions.store.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if open, err := sessions.Requests(); err != nil || len(open) != 1 || open[0].Session != id {
		t.Errorf("asks %+v, %v", open, err)
	}
	storeSession(t, sessions.store, id, State{Phase: Ended, Result: &Result{Tokens: Tokens{Requests: 1, Input: 7}}})
	if briefs, err = sessions.Summaries(); err != nil || briefs[0].Tokens != 7 || briefs[0].Waiting != 0 {
		t.Errorf("after the end: %+v, %v", briefs, err)
	}
	if open, err := sessions.Requests(); err != nil || len(open) != 0 {
		t.Errorf("asks after its end: %+v, %v", open, err)
	}
	if live, err := sessions.Live(id); err != nil || live.Tokens.Input != 7 || live.Calls != 1 {
		t.Errorf("%+v, %v", live, err)
	}
}

func TestAFailedWriteOfCountersKeepsTheOldOnes(t *testing.T) {
	store := testStore(t)
	id, err := store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := store.WriteLive(id, Live{Output: 1}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(store.Dir(id), liveFile+".next")); err != nil {
		t.Fatal(err)
	}
	if err := store.WriteLive(id, Live{Output: 2}); !errors.Is(err, syscall.EISDIR) {
		t.Errorf("writing ends with %v", err)
	}
	if live := store.live(id); live.Output != 1 {
		t.Errorf("the numbers are now %+v", live)
	}
}

func TestCountersOfACrashedSessionBecomeItsResult(t *testing.T) {
	d := newFixture(t)
	ws := d.prepared("00001-a")
	d.must(d.store.write("00001-a", stateFile, State{Phase: Running, Workspace: ws, Started: now()}))
	d.must(d.store.WriteLive("00001-a", Live{Tokens: Tokens{Input: 3}, Refused: []Refusal{{Target: "x", Times: 2}}}))
	d.noDocker = errors.New("no Docker here")
	_, err := d.Repair(t.Context())
	d.must(err)
	session, err := d.store.Load("00001-a")
	d.must(err)
	if r := session.State.Result; r == nil || r.Tokens.Input != 3 || len(r.Refused) != 1 {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(filepath.Join(d.store.Dir("00001-a"), liveFile)); err == nil {
		t.Error("they stand there twice")
	}
}
