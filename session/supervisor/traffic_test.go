package supervisor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"aibox/audit"
	"aibox/config"
	"aibox/netguard"
	"aibox/session"
	"aibox/session/auditlog"
)

// refusedSession is an ended session in which accesses to the names were refused.
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
	s.nameRefused("now.example", "A", s.policy.refusedName)
	ctx, cancel := context.WithCancel(t.Context())
	news := make(chan auditlog.Traffic, 100)
	ended := make(chan error, 1)
	go func() {
		ended <- sessions.WatchTraffic(ctx, 100, func(n auditlog.Traffic) error {
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
	s.nameRefused("later.example", "A", s.policy.refusedName)
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
		"A": "outside names are not resolved", "AAAA": "outside names are not resolved", "TXT": "outside names are not resolved (TXT)",
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
		return s.logRefusal(session.Refusal{What: auditlog.AskedEgress, Target: host, Reason: "no", Times: 1}, audit.EgressRefused, func() any { return audit.Egress{Host: host, Reason: "no"} })
	}
	first, other, again := refuse("a.example"), refuse("b.example"), refuse("a.example")
	if first.Number != 1 || other.Number != 2 || again != first || first.Session != s.id {
		t.Errorf("%v, %v, %v", first, other, again)
	}
	if refused, _ := s.counters.result(); len(refused) != 2 || refused[0].Times != 2 {
		t.Errorf("%+v", refused)
	}
}

func TestRefusalsBeyondTheLimitOfKindsAreCountedTogether(t *testing.T) {
	sessions, s := watched(t)
	s.audit(audit.StopRequested, nil)
	refuse := func(host string, repeated int) session.EventID {
		id, _ := session.ParseEventID(s.recordEgress(ProxyEvent{
			Type: audit.EgressRefused, Repeated: repeated, Egress: audit.Egress{Host: host, Port: 443, Reason: "no"},
		}))
		return id
	}
	const others = 50
	for i := range maxRefusalKinds {
		refuse(fmt.Sprintf("n%d.example", i), 0)
	}
	first := refuse("other.example", 9)
	for i := range others {
		if id := refuse(fmt.Sprintf("other%d.example", i), 0); id != first || id.Number == 0 {
			t.Fatalf("refusal %d has the id %v, the first other one %v", i, id, first)
		}
	}
	if id := refuse("n7.example", 4); id == first || id.Number == 0 {
		t.Errorf("a known host has the id %v", id)
	}
	refused, _ := s.counters.result()
	if want := []session.Refusal{
		{What: auditlog.AskedEgress, Target: "others", Reason: "too many different ones to log each", Times: 10 + others},
		{What: auditlog.AskedEgress, Target: "n7.example:443", Reason: "no", Times: 6},
	}; !slices.Equal(refused[:2], want) {
		t.Errorf("counted %+v", refused[:2])
	}
	logged := 0
	err := sessions.Events(s.id, func(e audit.Event) error {
		if a, ok := auditlog.AccessOf(s.id, e); ok && a.What == auditlog.AskedEgress {
			logged++
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if logged != maxRefusalKinds+1 {
		t.Errorf("%d refusals are in the log", logged)
	}
}

func TestAFloodOfOneKindKeepsNoOtherRefusalOutOfTheLog(t *testing.T) {
	sessions, s := watched(t)
	s.audit(audit.StopRequested, nil)
	for i := range maxRefusalKinds + 10 {
		s.nameRefused(fmt.Sprintf("x%d.attacker.example", i), "A", s.policy.refusedName)
	}
	s.recordEgress(ProxyEvent{Type: audit.EgressRefused, Egress: audit.Egress{Host: "169.254.169.254", Port: 80, Reason: "no"}})
	s.refused(session.Refusal{What: "tcp", Target: "192.0.2.1:22", Reason: "no", Times: 1})
	var listed []string
	err := sessions.Events(s.id, func(e audit.Event) error {
		if a, ok := auditlog.AccessOf(s.id, e); ok && a.What != auditlog.AskedName {
			listed = append(listed, a.Target)
		}
		return nil
	})
	if want := []string{"169.254.169.254:80", "192.0.2.1:22"}; err != nil || !slices.Equal(listed, want) {
		t.Errorf("the log has %q: %v", listed, err)
	}
}

func TestRequestsThatCostNothingKeepNoAnswerOutOfTheLog(t *testing.T) {
	sessions, s := watched(t)
	cheap := []auditlog.ModelCall{
		{Method: "GET", Path: "/v1/models", Status: 200},
		{Method: "POST", Path: "/v1/responses", Status: 401, Generates: true, Spends: true, Error: "no key", Outcome: auditlog.Refused},
		{Method: "POST", Path: "/v1/responses", Status: 499, Generates: true, Spends: true, Error: "the agent gave up", Outcome: auditlog.GivenUp},
	}
	for i := range maxOtherCalls + 100 {
		s.modelCalled(cheap[i%len(cheap)])
	}
	s.modelCalled(auditlog.ModelCall{Method: "POST", Path: "/v1/nothing", Status: 404, Error: "not listed", Outcome: auditlog.Refused})
	s.modelCalled(auditlog.ModelCall{Method: "GET", Path: "/v1/models", Status: 200, LeftOut: []string{"x"}})
	const answers = 20
	for i := range answers {
		call := auditlog.ModelCall{Method: "POST", Path: "/v1/responses", Model: "m", Status: 200, Generates: true, Spends: true, Sent: 10, Input: 3, Output: 2}
		if i%2 == 0 {
			call.Path, call.Generates, call.Output = "/v1/embeddings", false, 0
		}
		s.modelCalled(call)
	}
	listed := map[string]int{}
	err := sessions.Events(s.id, func(e audit.Event) error {
		if a, ok := auditlog.AccessOf(s.id, e); ok && a.What == auditlog.AskedModel {
			listed[a.Target]++
			if a.Call.Input > 0 {
				listed["answers"]++
			}
		}
		return nil
	})
	if err != nil || listed["answers"] != answers || listed["POST /v1/nothing"] != 1 {
		t.Errorf("the log has %v: %v", listed, err)
	}
	if all := listed["GET /v1/models"] + listed["POST /v1/responses"] + listed["POST /v1/embeddings"]; all != maxOtherCalls+1+answers {
		t.Errorf("the log has %d of these: %v", all, listed)
	}
	totals := s.counters.totals()
	if totals.Calls != maxOtherCalls+102+answers || totals.Sent != 10*answers || len(totals.Models) != 1 || totals.Models[0].Tokens.Input != 3*answers {
		t.Errorf("%+v", totals)
	}
}

// A sandbox can hide data in many names: the log has the number of all of them.
func TestEveryRefusedNameCounts(t *testing.T) {
	sessions, s := watched(t)
	s.audit(audit.StopRequested, nil)
	const asked = 3*maxRefusalKinds + 7
	for i := range asked {
		s.nameRefused(fmt.Sprintf("x%d.attacker.example", i/2), "TXT", s.policy.refusedName)
	}
	if got := s.counters.totals().Refused[auditlog.AskedName]; got != asked {
		t.Errorf("%d of %d names are counted", got, asked)
	}
	s.audit(audit.SandboxDestroyed, s.counters.totals())
	var sum auditlog.Summary
	logged := 0
	err := sessions.Events(s.id, func(e audit.Event) error {
		sum.Add(e)
		if a, ok := auditlog.AccessOf(s.id, e); ok && a.What == auditlog.AskedName {
			logged++
		}
		return nil
	})
	if err != nil || sum.Names != asked || logged != maxRefusalKinds+1 {
		t.Errorf("the summary has %d names, the log %d: %v", sum.Names, logged, err)
	}
}
