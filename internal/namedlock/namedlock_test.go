package namedlock

import (
	"context"
	"errors"
	"sync"
	"testing"
)

func TestOnlyOneHasTheLockOfAName(t *testing.T) {
	var locks Set
	var wait sync.WaitGroup
	held := 0 // guarded by the lock; the race detector would see a second holder
	for range 20 {
		wait.Go(func() {
			unlock, err := locks.Lock(t.Context(), "a")
			if err != nil {
				t.Error(err)
				return
			}
			if held++; held != 1 {
				t.Errorf("%d hold the lock", held)
			}
			held--
			unlock()
			unlock()
		})
	}
	wait.Wait()
	if len(locks.held) > 0 {
		t.Errorf("%d locks are left", len(locks.held))
	}
}

func TestWaitingForALockEndsWithItsContextAndOtherNamesAreFree(t *testing.T) {
	var locks Set
	unlock, err := locks.Lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := locks.Lock(ended, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting ends with %v", err)
	}
	other, err := locks.Lock(ended, "b")
	if err != nil {
		t.Fatalf("another name: %v", err)
	}
	other()
}
