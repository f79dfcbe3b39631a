package summary

import (
	"testing"
	"time"

	"aibox/session"
	"aibox/session/client"
	"aibox/session/sessiontest"
)

func TestARunningSessionIsListedWithItsCounters(t *testing.T) {
	store := sessiontest.Store(t)
	reader := session.NewReader(store)
	sessions := New(client.New(store), store)
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Running})
	deadline := time.Now().Add(time.Hour).UTC()
	err = sessions.store.WriteLive(id, session.Live{
		Tokens: session.Tokens{Requests: 2, Input: 40, Output: 2, Cost: 0.5, Unpriced: 1}, Deadline: deadline,
		Refused: []session.Refusal{{What: "name", Target: "example.org", Times: 3}}, Requests: []session.Request{{Session: id, ID: 1}},
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
	if open, err := reader.Requests(); err != nil || len(open) != 0 {
		t.Errorf("a session whose supervisor died asks %+v, %v", open, err)
	}
	held, err := sessions.store.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if open, err := reader.Requests(); err != nil || len(open) != 1 || open[0].Session != id {
		t.Errorf("asks %+v, %v", open, err)
	}
	sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Ended, Result: &session.Result{Tokens: session.Tokens{Requests: 1, Input: 7}}})
	if briefs, err = sessions.Summaries(); err != nil || briefs[0].Tokens != 7 || briefs[0].Waiting != 0 {
		t.Errorf("after the end: %+v, %v", briefs, err)
	}
	if open, err := reader.Requests(); err != nil || len(open) != 0 {
		t.Errorf("asks after its end: %+v, %v", open, err)
	}
	if live, err := reader.Live(id); err != nil || live.Tokens.Input != 7 || live.Calls != 1 {
		t.Errorf("%+v, %v", live, err)
	}
}
