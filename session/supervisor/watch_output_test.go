package supervisor

import (
	"context"
	"testing"
	"time"

	"aibox/session/output"
)

func TestAWatcherOfOutputIsNotifiedUntilTheSessionEnds(t *testing.T) {
	sessions, s := watched(t)
	said, err := sessions.WatchOutput(t.Context(), s.id)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	other, err := sessions.WatchOutput(ctx, s.id)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	for range other { //nolint:revive // until it is closed
	}
	for _, text := range []string{"hello", "again"} {
		if err := s.record.Append(output.Stdout, []byte(text)); err != nil {
			t.Fatal(err)
		}
		select {
		case _, going := <-said:
			if !going {
				t.Fatal("it counts as ended")
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q went unheard", text)
		}
	}
	if err := s.record.Close(); err != nil {
		t.Fatal(err)
	}
	for range said { //nolint:revive // until it is closed
	}
}
