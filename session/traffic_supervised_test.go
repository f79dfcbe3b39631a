package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"aibox/audit"
	"aibox/netguard"
)

// refusedSession is a session that has ended and was refused the names.
func refusedSession(t *testing.T, store store, names ...string) ID {
	t.Helper()
	id, err := store.create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	log, err := store.openLog(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := log.Append(audit.AccessRefused, Refusal{What: "name", Target: name, Reason: "no"}); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(log.Close(), store.writeSpec(id, Spec{ID: id, Network: netguard.None}), store.writeState(id, State{Phase: Ended, Result: &Result{}}))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestTheTrafficOfAllSessionsIsWatchedTheLatestFirst(t *testing.T) {
	sessions, s := watched(t)
	first := refusedSession(t, s.store, "one.example", "two.example")
	second := refusedSession(t, s.store, "three.example")
	s.refused("name", "now.example", "no")
	ctx, cancel := context.WithCancel(t.Context())
	news := make(chan Traffic, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- sessions.WatchTraffic(ctx, 100, func(n Traffic) error {
			news <- n
			return nil
		})
	}()
	got := map[ID][]string{}
	var order []ID
	await := func(target string) {
		t.Helper()
		for n := range news {
			if n.Access == nil {
				continue
			}
			got[n.Session] = append(got[n.Session], n.Access.Target)
			order = append(order, n.Session)
			if n.Access.Target == target {
				return
			}
		}
	}
	await("two.example")
	if !slices.Equal(got[first], []string{"one.example", "two.example"}) || !slices.Equal(got[second], []string{"three.example"}) {
		t.Errorf("%v", got)
	}
	if slices.Index(order, second) > slices.Index(order, first) {
		t.Errorf("visited %v", order)
	}
	s.refused("name", "later.example", "no")
	await("later.example")
	third := refusedSession(t, s.store, "new.example")
	await("new.example")
	if !slices.Equal(got[third], []string{"new.example"}) {
		t.Errorf("a new session: %v", got[third])
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the end is %v", err)
	}
}

func TestAnAddressThatIsLookedUpGoesWithoutItsKind(t *testing.T) {
	for kind, want := range map[string]string{
		"A": "no name is resolved outside", "AAAA": "no name is resolved outside", "TXT": "no name is resolved outside (TXT)",
	} {
		if got := unresolved(kind); got != want {
			t.Errorf("%s: %q, not %q", kind, got, want)
		}
	}
}
