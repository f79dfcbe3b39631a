package session

import (
	"context"
	"testing"
	"time"
)

func TestWhoLooksOnIsToldThatAnAgentSaidMoreUntilItsEnd(t *testing.T) {
	sessions := New(Deps{})
	sessions.store = testStore(t)
	id, err := sessions.store.create("shell", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	dir := sessions.store.dir(id)
	running, err := lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	f, _ := serveFake(t, dir)
	said, err := sessions.Heard(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(t.Context())
	other, err := sessions.Heard(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	for range other { //nolint:revive // until it is closed
	}
	for _, text := range []string{"hello", "again"} {
		record(t, f.r, Stdout, text)
		select {
		case _, going := <-said:
			if !going {
				t.Fatal("it counts as ended")
			}
		case <-time.After(time.Minute):
			t.Fatalf("%q went unheard", text)
		}
	}
	if err := f.r.finish(); err != nil {
		t.Fatal(err)
	}
	for range said { //nolint:revive // until it is closed
	}
}
