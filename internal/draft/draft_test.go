package draft

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

func TestADraftThatIsBeingLockedIsNotDead(t *testing.T) {
	dir, over, swept := t.TempDir(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(swept)
		for {
			select {
			case <-over:
				return
			default:
			}
			entries, _ := os.ReadDir(dir)
			for _, entry := range entries {
				if _, err := RemoveDead(filepath.Join(dir, entry.Name()), time.Now()); err != nil {
					t.Error(err)
				}
			}
		}
	}()
	for i := range 2000 {
		folder := filepath.Join(dir, strconv.Itoa(i))
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		lock, err := Lock(folder)
		if err != nil {
			t.Fatalf("draft %d: %v", i, err)
		}
		if _, err := os.Lstat(filepath.Join(folder, LockFile)); err != nil {
			t.Fatalf("draft %d was removed while it was locked: %v", i, err)
		}
		if err := lock.Close(); err != nil { // now it is dead
			t.Fatal(err)
		}
	}
	close(over)
	<-swept
}

func TestOnlyADraftWithoutAProcessIsRemoved(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "draft")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	if isAlive, err := RemoveDead(folder, time.Now()); err != nil || !isAlive {
		t.Errorf("a new draft: alive %v, %v", isAlive, err)
	}
	lock, err := Lock(folder)
	if err != nil {
		t.Fatal(err)
	}
	if isAlive, err := RemoveDead(folder, time.Now().Add(-2*LockTime)); err != nil || !isAlive {
		t.Errorf("a locked draft: alive %v, %v", isAlive, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is gone
		if isAlive, err := RemoveDead(folder, time.Now().Add(-2*LockTime)); err != nil || isAlive {
			t.Errorf("a dead draft: alive %v, %v", isAlive, err)
		}
	}
	if _, err := os.Lstat(folder); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
}
