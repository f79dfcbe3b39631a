package session

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

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
	if live := store.Live(id); live.Output != 1 {
		t.Errorf("the numbers are now %+v", live)
	}
}
