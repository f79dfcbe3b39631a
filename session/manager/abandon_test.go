package manager

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"

	"aibox/session"
	"aibox/session/sessiontest"
)

func TestAnAbandonedStartIsAwaitedAndItsRecordRemoved(t *testing.T) {
	sessions := newManager(Deps{}, sessiontest.Store(t))
	if err := sessions.Abandon(t.Context(), "0dq4f-sandbox"); err != nil {
		t.Errorf("one that does not exist: %v", err)
	}
	if err := sessions.Abandon(t.Context(), "0dq4f-codex"); err == nil {
		t.Error("the session of an agent was abandoned")
	}
	id, err := sessions.store.Create(session.SandboxAgent, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := sessions.store.Dir(id)
	held, err := sessions.store.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sessions.Abandon(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("while its supervisor lives: %v", err)
	}
	if err := os.WriteFile(sessions.store.SupervisorLog(id), nil, 0o600); err != nil { // the supervisor dies before it has a record
		t.Fatal(err)
	}
	if err := errors.Join(held.Close(), sessions.Abandon(t.Context(), id)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder is left: %v", err)
	}
}

func TestTheStartOfASessionIsSettledAfterItsClientDied(t *testing.T) {
	sessions := newManager(Deps{}, sessiontest.Store(t))
	store := sessions.store
	if started, err := sessions.Settle(t.Context(), "0dq4f-codex"); started || err != nil {
		t.Errorf("one that does not exist: %v, %v", started, err)
	}
	if err := store.CreateChosen("0dq4f-codex"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a supervisor that comes late can use the id: %v", err)
	}
	for name, c := range map[string]struct {
		state session.State
		want  bool
	}{
		"running":             {session.State{Phase: session.Running, Started: session.Now()}, true},
		"ended":               {session.State{Phase: session.Ended, Started: session.Now()}, true},
		"waits for its turn":  {session.State{Phase: session.Queued}, true},
		"a start that failed": {session.State{Phase: session.Ended}, false},
	} {
		id, err := store.Create("codex", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		for file, value := range map[string]any{session.SpecFile: session.Spec{ID: id, Created: session.Now()}, session.StateFile: c.state} {
			if err := store.Write(id, file, value); err != nil {
				t.Fatal(err)
			}
		}
		if started, err := sessions.Settle(t.Context(), id); err != nil || started != c.want {
			t.Errorf("%s: %v, %v", name, started, err)
		}
	}
}

func TestAStartInProgressIsAwaited(t *testing.T) {
	sessions := newManager(Deps{}, sessiontest.Store(t))
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	held, err := sessions.store.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	settled := make(chan bool)
	go func() {
		started, err := sessions.Settle(t.Context(), id)
		settled <- started && err == nil
	}()
	for file, value := range map[string]any{session.SpecFile: session.Spec{ID: id, Created: session.Now()}, session.StateFile: session.State{Phase: session.Preparing}} {
		if err := sessions.store.Write(id, file, value); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-settled:
		t.Fatal("a session that is being prepared is settled")
	case <-time.After(5 * abandonPoll):
	}
	if err := sessions.store.Write(id, session.StateFile, session.State{Phase: session.Running, Started: session.Now()}); err != nil {
		t.Fatal(err)
	}
	if !<-settled {
		t.Error("the session that has started is not reported")
	}
}
