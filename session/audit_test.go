package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/audit"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
)

// everyEvent returns the ids of all logged events, in order.
func everyEvent(t *testing.T, s *Sessions, texts ...string) []string {
	t.Helper()
	logs, err := s.AuditLogs(texts...)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	err = s.AuditEvents(logs, func(e Logged) error {
		ids = append(ids, e.ID().String()+" "+string(e.Type))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestARemovedSessionKeepsItsAuditLog(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	d.ended("00002-b", "two.txt")
	_, err := d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{All: true}})
	d.must(err)
	d.must(d.Remove(t.Context(), "00001-a", false))
	logs, err := d.AuditLogs("00001")
	d.must(err)
	if len(logs) != 1 || !logs[0].Removed || logs[0].Session != "00001-a" {
		t.Fatalf("%+v", logs)
	}
	if got := strings.Join(everyEvent(t, d.Sessions), ", "); got != "00001/0 accept.begun, 00001/1 changes.accepted, 00001/2 session.removed" {
		t.Error(got)
	}
	if v, err := d.VerifyAudit(logs[0]); err != nil || len(v.Damage) != 0 || v.Events != 3 || v.EndUnknown {
		t.Errorf("%+v, %v", v, err)
	}
	d.must(os.Truncate(logs[0].Path, 10))
	if v, err := d.VerifyAudit(logs[0]); err != nil || len(v.Damage) != 1 {
		t.Errorf("once it is cut: %+v, %v", v, err)
	}
	if _, err := d.AuditLogs("0000"); fault.KindOf(err) != fault.Usage {
		t.Errorf("an ambiguous prefix: %v", err)
	}
}

func TestASessionWithADamagedLogOrOnAFullDiskCanBeRemoved(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	d.must(d.append("00001-a", audit.StopRequested, nil))
	damaged, err := os.ReadFile(d.auditPath("00001-a"))
	d.must(err)
	damaged[9] ^= 1
	d.must(os.WriteFile(d.auditPath("00001-a"), damaged, 0o600))
	d.must(d.Remove(t.Context(), "00001-a", true))
	logs, err := d.AuditLogs("00001-a")
	d.must(err)
	if kept, err := os.ReadFile(logs[0].Path); err != nil || !bytes.Equal(kept, damaged) {
		t.Errorf("%q, %v", kept, err)
	}
}

func TestEventsOfOverlappingSessionsAreVisitedInTimeOrder(t *testing.T) {
	s := newSessions(Deps{}, testStore(t))
	a, b := past(t, s), past(t, s)
	for _, id := range []ID{a, b, b, a, b, a} {
		if err := s.append(id, audit.StopRequested, nil); err != nil {
			t.Fatal(err)
		}
	}
	short := func(id ID, n int) string { return EventID{id, n}.String() + " stop.requested" }
	want := []string{short(a, 0), short(b, 0), short(b, 1), short(a, 1), short(b, 2), short(a, 2)}
	if got := everyEvent(t, s); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	logs, err := s.AuditLogs()
	if err != nil {
		t.Fatal(err)
	}
	enough, seen := errors.New("enough"), 0
	if err := s.AuditEvents(logs, func(Logged) error { seen++; return enough }); !errors.Is(err, enough) || seen != 1 {
		t.Errorf("%v after %d", err, seen)
	}
	data, err := os.ReadFile(s.auditPath(a))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.auditPath(a), bytes.Replace(data, []byte(`"seq":1`), []byte(`"seq":9`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	seen = 0
	err = s.AuditEvents(logs, func(Logged) error { seen++; return nil })
	var damaged *DamagedLog
	if !errors.Is(err, audit.ErrBroken) || !errors.As(err, &damaged) || damaged.Session != a || seen != 4 {
		t.Errorf("%v after %d", err, seen)
	}
}

func TestFollowersSeeEventsAfterTheEndOfASession(t *testing.T) {
	s := newSessions(Deps{}, testStore(t))
	a, b := past(t, s), past(t, s)
	for range 2 {
		if err := s.append(a, audit.StopRequested, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.FollowAudit(ctx, map[ID]int{a: 1}, func(id ID) bool { return id != b }, func(e Logged) error {
			got <- e.ID().String()
			return nil
		})
	}()
	if id := <-got; id != (EventID{a, 1}).String() {
		t.Error(id)
	}
	for _, id := range []ID{b, a} {
		if err := errors.Join(s.append(id, audit.ChangesAccepted, nil), s.store.write(id, stateFile, State{Phase: Ended, Result: &Result{}})); err != nil {
			t.Fatal(err)
		}
	}
	if id := <-got; id != (EventID{a, 2}).String() {
		t.Error(id)
	}
	c := past(t, s)
	if err := errors.Join(s.append(c, audit.StopRequested, nil), s.store.write(c, stateFile, State{Phase: Ended, Result: &Result{}})); err != nil {
		t.Fatal(err)
	}
	if id := <-got; id != (EventID{c, 0}).String() {
		t.Error(id)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestTheAuditCommandGetsEachEventOfAReview(t *testing.T) {
	store := testStore(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "record")
	script := "#!/bin/sh\n[ \"$1\" = --to ] && cat >>\"$2\"\nenv >" + dir + "/env\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AIBOX_CANARY", "leaked")
	s := newSessions(withAuditCommand(NewAuditCommand(program+"  --to "+dir+"/events")), store)
	id := past(t, s)
	for _, kind := range []audit.Type{audit.AcceptBegun, audit.ChangesAccepted} {
		if err := s.append(id, kind, map[string]string{"name": "a\n\x1b"}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(dir + "/events")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var line LogLine
	if len(lines) != 2 || json.Unmarshal([]byte(lines[1]), &line) != nil || line.Session != id || line.Type != audit.ChangesAccepted || line.Seq != 1 || line.Kind != audit.KindReview {
		t.Errorf("%q", lines)
	}
	if env, err := os.ReadFile(dir + "/env"); err != nil || strings.Contains(string(env), "CANARY") {
		t.Errorf("%s, %v", env, err)
	}
}

func TestAFailingAuditCommandFailsNoReviewAndIsLogged(t *testing.T) {
	store := testStore(t)
	slow := AuditCommand{userCommand{words: []string{"sleep", "60"}, limit: 50 * time.Millisecond}}
	for name, command := range map[string]AuditCommand{"missing": NewAuditCommand("/no/such/program"), "failing": NewAuditCommand("false"), "slow": slow} {
		s := newSessions(withAuditCommand(command), store)
		id := past(t, s)
		if err := s.append(id, audit.ChangesAccepted, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := everyEvent(t, s, string(id))
		if len(got) != 2 || !strings.HasSuffix(got[1], "notice.given") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestASummaryCountsRepeatedRefusalsOfTheTotals(t *testing.T) {
	var sum AuditSummary
	for kind, data := range map[audit.Type]any{
		audit.DNSRefused:    audit.Query{Name: "x"},
		audit.AccessRefused: Refusal{What: "tcp", Target: "192.0.2.1:22"},
		audit.EgressClosed:  audit.EgressEnd{BytesUp: -5, BytesDown: 7},
		audit.ProbesRan:     map[string]any{"results": []map[string]bool{{"ok": true}, {"ok": false}}},
	} {
		raw, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		sum.Add(audit.Event{Type: kind, Data: raw})
	}
	sum.Add(audit.Event{Type: audit.SandboxDestroyed, Data: []byte(`{"calls":3,"input_tokens":9,"refused":{"name":40,"tcp":2,"udp":5,"model":8,"egress":1},"egress":{"allowed":4,"refused":3}}`)})
	want := AuditSummary{Allowed: 4, Refused: 10, BytesDown: 7, Names: 40, Calls: 3, Input: 9, Probes: 2, Failed: 1}
	if sum != want {
		t.Errorf("%+v", sum)
	}
	if twice := sum.Plus(sum); twice.Refused != 20 || twice.Names != 80 || twice.Failed != 2 || twice.BytesDown != 14 {
		t.Errorf("%+v", twice)
	}
}

func TestTheLogOfAnotherSessionIsDetected(t *testing.T) {
	s := newSessions(Deps{}, testStore(t))
	a, b := past(t, s), past(t, s)
	for _, id := range []ID{a, b} {
		if err := s.append(id, audit.SessionStarted, map[string]ID{"session": id}); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range [][2]string{{s.auditPath(a), s.auditPath(b)}, {audit.LastPath(s.auditPath(a)), audit.LastPath(s.auditPath(b))}} {
		if err := os.Rename(file[0], file[1]); err != nil {
			t.Fatal(err)
		}
	}
	logs, err := s.AuditLogs(string(b))
	if err != nil {
		t.Fatal(err)
	}
	v, err := s.VerifyAudit(logs[0])
	if err != nil || len(v.Damage) != 1 || v.Damage[0].String() != "line 1 belongs to the log of "+string(a) {
		t.Errorf("%+v, %v", v, err)
	}
}

func withAuditCommand(command AuditCommand) Deps {
	return Deps{Settings: func() Settings { return Settings{AuditCommand: command} }}
}
