package auditlog

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
	"testing/synctest"
	"time"

	"aibox/audit"
	"aibox/internal/flock"
	"aibox/internal/usercommand"
	"aibox/session"
	"aibox/session/client"
	"aibox/session/sessiontest"
)

// everyEvent returns the ids of all logged events, in order.
func everyEvent(t *testing.T, store session.Store, texts ...string) []string {
	t.Helper()
	s := New(client.New(store), store)
	logs, err := s.AuditLogs(texts...)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	err = s.AuditEvents(logs, func(e Event) error {
		ids = append(ids, e.ID().String()+" "+string(e.Type))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func TestEventsOfOverlappingSessionsAreVisitedInTimeOrder(t *testing.T) {
	store := sessiontest.Store(t)
	s := New(client.New(store), store)
	a, b := past(t, store), past(t, store)
	for _, id := range []session.ID{a, b, b, a, b, a} {
		if err := (Command{}).Append(store, id, audit.StopRequested, nil); err != nil {
			t.Fatal(err)
		}
	}
	short := func(id session.ID, n int) string {
		return session.EventID{Session: id, Number: n}.String() + " stop.requested"
	}
	want := []string{short(a, 0), short(b, 0), short(b, 1), short(a, 1), short(b, 2), short(a, 2)}
	if got := everyEvent(t, store); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	logs, err := s.AuditLogs()
	if err != nil {
		t.Fatal(err)
	}
	enough, seen := errors.New("enough"), 0
	if err := s.AuditEvents(logs, func(Event) error { seen++; return enough }); !errors.Is(err, enough) || seen != 1 {
		t.Errorf("%v after %d", err, seen)
	}
	data, err := os.ReadFile(store.AuditPath(a))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(store.AuditPath(a), bytes.Replace(data, []byte(`"seq":1`), []byte(`"seq":9`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	seen = 0
	err = s.AuditEvents(logs, func(Event) error { seen++; return nil })
	var damaged *DamagedLog
	if !errors.Is(err, audit.ErrBroken) || !errors.As(err, &damaged) || damaged.Session != a || seen != 4 {
		t.Errorf("%v after %d", err, seen)
	}
}

func TestFollowersSeeEventsAfterTheEndOfASession(t *testing.T) {
	store := sessiontest.Store(t)
	s := New(client.New(store), store)
	a, b := past(t, store), past(t, store)
	for range 2 {
		if err := (Command{}).Append(store, a, audit.StopRequested, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := make(chan string, 100)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.FollowAudit(ctx, map[session.ID]int{a: 1}, func(id session.ID) bool { return id != b }, func(e Event) error {
			got <- e.ID().String()
			return nil
		})
	}()
	if id := <-got; id != (session.EventID{Session: a, Number: 1}).String() {
		t.Error(id)
	}
	for _, id := range []session.ID{b, a} {
		if err := errors.Join((Command{}).Append(store, id, audit.ChangesAccepted, nil), store.Write(id, session.StateFile, session.State{Phase: session.Ended, Result: &session.Result{}})); err != nil {
			t.Fatal(err)
		}
	}
	if id := <-got; id != (session.EventID{Session: a, Number: 2}).String() {
		t.Error(id)
	}
	c := past(t, store)
	if err := errors.Join((Command{}).Append(store, c, audit.StopRequested, nil), store.Write(c, session.StateFile, session.State{Phase: session.Ended, Result: &session.Result{}})); err != nil {
		t.Fatal(err)
	}
	if id := <-got; id != (session.EventID{Session: c, Number: 0}).String() {
		t.Error(id)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Watch returns at once, although a verification can use the session for minutes.
func TestTheLogOfAnEndedSessionIsNotReadAgainAndAgainWhileACommandUsesIt(t *testing.T) {
	store := sessiontest.Store(t)
	id := past(t, store, "example.com")
	held, err := store.Lock(id)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		begin, visited := time.Now(), 0
		time.AfterFunc(time.Minute, func() { _ = held.Close() })
		f := auditFollow{logs: New(client.New(store), store), visit: func(Event) error { visited++; return nil }, fail: func(err error) { t.Error(err) }}
		f.follow(t.Context(), id, new(logPosition))
		if took := time.Since(begin); took < time.Minute || visited != 1 {
			t.Errorf("it returns after %v and %d events", took, visited)
		}
	})
}

func TestTheAuditCommandGetsEachEventOfAReview(t *testing.T) {
	store := sessiontest.Store(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "record")
	script := "#!/bin/sh\n[ \"$1\" = --to ] && cat >>\"$2\"\nenv >" + dir + "/env\n"
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AIBOX_CANARY", "leaked")
	command := NewCommand(program + "  --to " + dir + "/events")
	id := past(t, store)
	for _, kind := range []audit.Type{audit.AcceptBegun, audit.ChangesAccepted} {
		if err := command.Append(store, id, kind, map[string]string{"name": "a\n\x1b"}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(dir + "/events")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	var line Line
	if len(lines) != 2 || json.Unmarshal([]byte(lines[1]), &line) != nil || line.Session != id || line.Type != audit.ChangesAccepted || line.Seq != 1 || line.Kind != audit.KindReview {
		t.Errorf("%q", lines)
	}
	if env, err := os.ReadFile(dir + "/env"); err != nil || strings.Contains(string(env), "CANARY") {
		t.Errorf("%s, %v", env, err)
	}
}

func TestAFailingAuditCommandFailsNoReviewAndIsLogged(t *testing.T) {
	store := sessiontest.Store(t)
	slow := Command{usercommand.Command{Words: []string{"sleep", "60"}, Limit: 50 * time.Millisecond}}
	for name, command := range map[string]Command{"missing": NewCommand("/no/such/program"), "failing": NewCommand("false"), "slow": slow} {
		id := past(t, store)
		if err := command.Append(store, id, audit.ChangesAccepted, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := everyEvent(t, store, string(id))
		if len(got) != 2 || !strings.HasSuffix(got[1], "notice.given") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestASummaryCountsRepeatedRefusalsOfTheTotals(t *testing.T) {
	var sum Summary
	for kind, data := range map[audit.Type]any{
		audit.DNSRefused:    audit.Query{Name: "x"},
		audit.AccessRefused: session.Refusal{What: "tcp", Target: "192.0.2.1:22"},
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
	want := Summary{Allowed: 4, Refused: 10, BytesDown: 7, Names: 40, Calls: 3, Input: 9, Probes: 2, Failed: 1}
	if sum != want {
		t.Errorf("%+v", sum)
	}
	if twice := sum.Plus(sum); twice.Refused != 20 || twice.Names != 80 || twice.Failed != 2 || twice.BytesDown != 14 {
		t.Errorf("%+v", twice)
	}
}

func TestTheLogOfAnotherSessionIsDetected(t *testing.T) {
	store := sessiontest.Store(t)
	s := New(client.New(store), store)
	a, b := past(t, store), past(t, store)
	for _, id := range []session.ID{a, b} {
		if err := (Command{}).Append(store, id, audit.SessionStarted, map[string]session.ID{"session": id}); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range [][2]string{{store.AuditPath(a), store.AuditPath(b)}, {audit.LastPath(store.AuditPath(a)), audit.LastPath(store.AuditPath(b))}} {
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

// Bytes without a newline at the end of a log are damage, unless a process holds the session: it may
// be writing them.
func TestALogThatEndsWithinALineIsDamagedUnlessItsSessionIsInUse(t *testing.T) {
	store := sessiontest.Store(t)
	s := New(client.New(store), store)
	id := past(t, store)
	if err := (Command{}).Append(store, id, audit.SessionStarted, map[string]session.ID{"session": id}); err != nil {
		t.Fatal(err)
	}
	log := Log{Session: id, Path: store.AuditPath(id)}
	whole, err := os.ReadFile(log.Path)
	if err != nil {
		t.Fatal(err)
	}
	tail := `{"seq":1`
	if err := os.WriteFile(log.Path, append(whole, tail...), 0o600); err != nil {
		t.Fatal(err)
	}
	verify := func(log Log, want string) {
		t.Helper()
		got := ""
		v, err := s.VerifyAudit(log)
		for _, damage := range v.Damage {
			got += damage.String()
		}
		if err != nil || got != want || v.Events != 1 {
			t.Errorf("%q after %d events, %v", got, v.Events, err)
		}
	}
	const damage = "line 2 has no end: it was cut, or bytes were appended"
	verify(log, damage)
	lock, err := flock.Try(filepath.Join(store.Dir(id), session.LockFile), flock.Exclusive)
	if err != nil {
		t.Fatal(err)
	}
	verify(log, "")
	verify(Log{Session: id, Path: log.Path, Removed: true}, damage)
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	verify(log, damage)
}

// A log begins with the start of its session, so one without events was changed, unless its session is
// about to start or was removed since the logs were listed.
func TestALogWithoutEventsIsDamagedUnlessItsSessionStartsOrIsGone(t *testing.T) {
	store := sessiontest.Store(t)
	s := New(client.New(store), store)
	id := past(t, store)
	dir := store.Dir(id)
	logs := []Log{{Session: id, Path: store.AuditPath(id)}}
	damaged := func() bool {
		t.Helper()
		err := s.AuditEvents(logs, func(Event) error { return nil })
		if err != nil && !errors.Is(err, audit.ErrBroken) {
			t.Fatal(err)
		}
		return err != nil
	}
	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	change(os.RemoveAll(store.AuditPath(id)))
	if !damaged() {
		t.Error("an emptied log is no damage")
	}
	lock, err := store.Lock(id)
	change(err)
	if damaged() {
		t.Error("a session that holds its lock is damaged")
	}
	change(lock.Close())
	change(os.Rename(filepath.Join(dir, session.SpecFile), filepath.Join(dir, "spec")))
	if damaged() {
		t.Error("a session that is about to write its spec is damaged")
	}
	old := time.Now().Add(-2 * session.LaunchTimeout)
	change(os.Chtimes(dir, old, old))
	if !damaged() {
		t.Error("a session that has not started for a long time is not damaged")
	}
	change(os.RemoveAll(dir))
	if damaged() {
		t.Error("a session that was removed meanwhile is damaged")
	}
}

// A damaged log takes no last event, whose time would be that of the removal.
func TestTheRetentionOfADamagedLogBeginsWithItsRemoval(t *testing.T) {
	store := sessiontest.Store(t)
	id := past(t, store)
	path := store.AuditPath(id)
	if err := os.WriteFile(path, []byte("no event\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	removed := time.Now()
	old := removed.Add(-365 * 24 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if err := RemoveKeepingLog(t.Context(), store, id, Command{}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(archivedPath(store, id))
	if err != nil || info.ModTime().Before(removed.Add(-time.Minute)) {
		t.Errorf("it is of %v, %v", info.ModTime(), err)
	}
}

// Without hard links, the files of a log are moved one after the other. A later attempt to move the
// others must not lose those that were moved.
func TestAFileOfALogThatIsArchivedAlreadyStays(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "audit.last"), filepath.Join(dir, "archived.last")
	if err := os.WriteFile(to, []byte("end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := keep(from, to); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(to); string(text) != "end\n" {
		t.Errorf("%q, %v", text, err)
	}
}
