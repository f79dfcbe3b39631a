package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"
	"time"
)

func TestAChosenIDIsUsedOnce(t *testing.T) {
	store := testStore(t)
	first, err := store.ChooseID(t.Context(), SandboxAgent, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	second, err := store.ChooseID(t.Context(), SandboxAgent, time.Now())
	if err != nil || first == second || first.Agent() != SandboxAgent {
		t.Fatalf("%s and %s: %v", first, second, err)
	}
	if created, err := store.Create(SandboxAgent, time.Now()); err != nil || created == first || created == second {
		t.Errorf("%s was created: %v", created, err)
	}
	if err := store.CreateChosen(first); err != nil {
		t.Error(err)
	}
	if err := store.CreateChosen(first); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second session with the id: %v", err)
	}
}

func TestAnAbandonedStartIsAwaitedAndItsRecordRemoved(t *testing.T) {
	sessions := newSessions(Deps{}, testStore(t))
	if err := sessions.Abandon(t.Context(), "0dq4f-sandbox"); err != nil {
		t.Errorf("one that does not exist: %v", err)
	}
	if err := sessions.Abandon(t.Context(), "0dq4f-codex"); err == nil {
		t.Error("the session of an agent was abandoned")
	}
	id, err := sessions.store.Create(SandboxAgent, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := sessions.store.Dir(id)
	held, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sessions.Abandon(ctx, id); !errors.Is(err, context.Canceled) {
		t.Errorf("while its supervisor lives: %v", err)
	}
	if err := os.WriteFile(dir+"/"+supervisorLog, nil, 0o600); err != nil { // the supervisor dies before it has a record
		t.Fatal(err)
	}
	if err := errors.Join(held.Close(), sessions.Abandon(t.Context(), id)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder is left: %v", err)
	}
}
