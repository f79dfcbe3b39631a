package supervisor

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"aibox/audit"
	"aibox/config"
	"aibox/netguard"
	"aibox/session"
)

// refusedSession is a session that has ended and was refused the names.
func refusedSession(t *testing.T, store session.Store, names ...string) session.ID {
	t.Helper()
	id, err := store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	log, err := store.OpenLog(id)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if _, err := log.Append(audit.AccessRefused, session.Refusal{What: "name", Target: name, Reason: "no"}); err != nil {
			t.Fatal(err)
		}
	}
	err = errors.Join(log.Close(), store.WriteSpec(id, session.Spec{ID: id, Run: config.Run{Network: netguard.None.String()}}), store.WriteState(id, session.State{Phase: session.Ended, Result: &session.Result{}}))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestTrafficOfAllSessionsIsWatchedNewestFirst(t *testing.T) {
	sessions, s := watched(t)
	first := refusedSession(t, s.store, "one.example", "two.example")
	second := refusedSession(t, s.store, "three.example")
	s.nameRefused("now.example", "A")
	ctx, cancel := context.WithCancel(t.Context())
	news := make(chan session.Traffic, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- sessions.WatchTraffic(ctx, 100, func(n session.Traffic) error {
			news <- n
			return nil
		})
	}()
	got := map[session.ID][]string{}
	var order []session.ID
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
	s.nameRefused("later.example", "A")
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

func TestAddressLookupsOmitTheRecordType(t *testing.T) {
	for kind, want := range map[string]string{
		"A": "no name is resolved outside", "AAAA": "no name is resolved outside", "TXT": "no name is resolved outside (TXT)",
	} {
		if got := unresolved(kind); got != want {
			t.Errorf("%s: %q, not %q", kind, got, want)
		}
	}
}

func TestARepeatedRefusalHasTheIDOfTheFirst(t *testing.T) {
	_, s := watched(t)
	s.audit(audit.StopRequested, nil)
	refuse := func(host string) session.EventID {
		return s.logRefusal(session.Refusal{What: session.AskedEgress, Target: host, Reason: "no"}, audit.EgressRefused, audit.Egress{Host: host, Reason: "no"})
	}
	first, other, again := refuse("a.example"), refuse("b.example"), refuse("a.example")
	if first.Number != 1 || other.Number != 2 || again != first || first.Session != s.id {
		t.Errorf("%v, %v, %v", first, other, again)
	}
	if refused, _ := s.counters.result(); len(refused) != 2 || refused[0].Times != 2 {
		t.Errorf("%+v", refused)
	}
}
