package manager

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"aibox/session"
	"aibox/session/sessiontest"
)

// A supervisor takes the lock of its folder and then opens its log. A repair that looks for
// them in the same order could see neither the one nor the other.
func TestARepairNeverRemovesTheFolderOfASupervisorThatStarts(t *testing.T) {
	sessions := newManager(Deps{}, sessiontest.Store(t))
	store := sessions.store
	starting := make(chan session.ID)
	over := make(chan struct{})
	go func() {
		defer close(over)
		for id := range starting {
			for range 200 {
				if _, err := sessions.repairUnlaunched(t.Context(), id); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for begun := time.Now(); time.Since(begun) < 2*time.Second && !t.Failed(); {
		id, err := store.Create("codex", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		starting <- id
		held, err := store.Lock(id)
		if err != nil {
			t.Fatal(err)
		}
		log, err := os.Create(store.SupervisorLog(id))
		if err != nil {
			t.Fatal(err)
		}
		for range 20 {
			if _, err := os.Lstat(store.Dir(id)); err != nil {
				t.Fatalf("its folder was removed: %v", err)
			}
		}
		_ = log.Close()
		_ = held.Close()
	}
	close(starting)
	<-over
}

// A process that has too many open files cannot tell whether another one holds a lock.
func TestARepairRemovesNoFolderWhoseLockCannotBeTaken(t *testing.T) {
	sessions := newManager(Deps{}, sessiontest.Store(t))
	id, err := sessions.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := sessions.store.Dir(id)
	err = errors.Join(os.WriteFile(sessions.store.SupervisorLog(id), nil, 0o600), os.Symlink("elsewhere", filepath.Join(dir, session.LockFile)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.repairUnlaunched(t.Context(), id); err == nil {
		t.Error("that is not reported")
	}
	if _, err := os.Lstat(dir); err != nil {
		t.Errorf("it was removed: %v", err)
	}
}
