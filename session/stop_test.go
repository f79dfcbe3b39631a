package session

import (
	"testing"
	"testing/synctest"
	"time"
)

// A supervisor closes its socket before it has removed the sandbox and releases its lock.
// Stop once failed in that time.
func TestStopWaitsForASupervisorThatIsAboutToExit(t *testing.T) {
	sessions := newSessions(Deps{}, testStore(t))
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	storeSession(t, sessions.store, id, State{Phase: Ended, Result: &Result{}})
	held, err := lock(sessions.store.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		stopped := make(chan error)
		go func() {
			_, err := sessions.Stop(t.Context(), id, "no longer needed")
			stopped <- err
		}()
		select {
		case err := <-stopped:
			t.Errorf("Stop returned %v while the supervisor was ending", err)
			return
		case <-time.After(time.Second):
		}
		_ = held.Close()
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}
