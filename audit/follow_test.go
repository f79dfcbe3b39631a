package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// openLog opens a log with n events.
func openLog(t *testing.T, n int) *Log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	fill(t, path, n)
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestFollowerGetsExistingAndNewEventsUntilTheLogCloses(t *testing.T) {
	log := openLog(t, 3)
	got := make(chan int)
	ended := make(chan error, 1)
	go func() {
		ended <- log.Follow(t.Context(), 1, func(e Event) error {
			got <- e.Seq
			return nil
		})
	}()
	for _, want := range []int{1, 2} {
		if seq := <-got; seq != want {
			t.Errorf("event %d, not %d", seq, want)
		}
	}
	for want := 3; want < 6; want++ {
		if _, err := log.Append(StopRequested, nil); err != nil {
			t.Fatal(err)
		}
		if seq := <-got; seq != want {
			t.Errorf("event %d, not %d", seq, want)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the end is %v", err)
	}
}

func TestFollowerStopsOnContextOrCallbackError(t *testing.T) {
	log := openLog(t, 2)
	defer log.Close()
	ctx, cancel := context.WithCancel(t.Context())
	err := log.Follow(ctx, 0, func(e Event) error {
		if e.Seq == 1 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	enough := errors.New("enough")
	if err := log.Follow(t.Context(), 0, func(Event) error { return enough }); !errors.Is(err, enough) {
		t.Errorf("got %v", err)
	}
}

func TestFollowerDetectsAChangedEvent(t *testing.T) {
	log := openLog(t, 3)
	defer log.Close()
	data, err := os.ReadFile(log.file.Name())
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 1
	if err := os.WriteFile(log.file.Name(), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := log.Follow(t.Context(), 0, func(Event) error { return nil }); !errors.Is(err, ErrBroken) {
		t.Errorf("got %v", err)
	}
	if err := os.Truncate(log.file.Name(), 0); err != nil {
		t.Fatal(err)
	}
	if err := log.Follow(t.Context(), 0, func(Event) error { return nil }); !errors.Is(err, ErrBroken) {
		t.Errorf("of a log that was cut: %v", err)
	}
}
