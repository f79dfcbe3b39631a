package session

import (
	"context"
	"os"
	"testing"
	"time"
)

func TestAWatcherOfSessionsIsNotifiedOfEachNewState(t *testing.T) {
	sessions := NewReader(testStore(t))
	ctx, cancel := context.WithCancel(t.Context())
	changed, err := sessions.Changed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	notified := func(what string) {
		t.Helper()
		select {
		case <-changed:
		case <-time.After(time.Minute):
			t.Fatal("no notification that " + what)
		}
	}
	id, err := sessions.store.Create("shell", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	notified("there is a new session")
	if err := sessions.store.Write(id, StateFile, State{Phase: Ended}); err != nil {
		t.Fatal(err)
	}
	notified("it has another state")
	if err := os.RemoveAll(sessions.store.Dir(id)); err != nil {
		t.Fatal(err)
	}
	notified("it is gone")
	cancel()
	for range changed { //nolint:revive // until it is closed
	}
}
