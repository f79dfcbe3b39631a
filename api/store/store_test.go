package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
)

func open(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "api", "a b?#%.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

var read = []aiboxv1.Right{aiboxv1.Right_RIGHT_READ}

func TestTheDatabaseIsTheUsersAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "api")
	s, err := Open(t.Context(), filepath.Join(dir, "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, _, err := s.CreateToken(t.Context(), "a", "", read, time.Time{}); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if info, err := file.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", file.Name(), info.Mode(), err)
		}
	}
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
}

func TestASymlinkInPlaceOfTheDatabaseIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "elsewhere"), filepath.Join(dir, "x.db")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), filepath.Join(dir, "x.db")); fault.KindOf(err) != fault.Environment {
		t.Errorf("it was opened: %v", err)
	}
}

// Every command about a sandbox opens the database.
func TestACurrentDatabaseOpensWhileAnotherProcessWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	first, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	want, err := first.Key(t.Context(), "ports")
	if err != nil {
		t.Fatal(err)
	}
	err = first.change(t.Context(), func(*sql.Tx) error {
		second, err := Open(t.Context(), path)
		if err != nil {
			return err
		}
		defer second.Close()
		got, err := second.Key(t.Context(), "ports")
		if !bytes.Equal(got, want) {
			t.Errorf("the key is %x, not %x", got, want)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestADatabaseOfANewerVersionIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("PRAGMA user_version = 1000"); err != nil {
		t.Fatal(err)
	}
	s.Close()
	if _, err := Open(t.Context(), path); !errors.Is(err, errNewer) {
		t.Errorf("it was opened: %v", err)
	}
}

func TestOnlyAValidTokenAuthenticates(t *testing.T) {
	s := open(t)
	secret, token, err := s.CreateToken(t.Context(), "a", "for CI", read, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	caller, err := s.Authenticate(t.Context(), secret)
	if err != nil || caller.Tenant != "a" || caller.Token != token.ID || len(caller.Rights) != 1 {
		t.Fatalf("%+v, %v", caller, err)
	}
	expired, old, err := s.CreateToken(t.Context(), "a", "", read, time.Now().Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec("UPDATE tokens SET expires = 1 WHERE id = ?", old.ID); err != nil {
		t.Fatal(err)
	}
	revoked, gone, err := s.CreateToken(t.Context(), "a", "", read, time.Time{})
	if err != nil || s.RevokeToken(t.Context(), gone.ID) != nil {
		t.Fatal(err)
	}
	for id, valid := range map[string]bool{token.ID: true, old.ID: false, gone.ID: false, "": false, "none": false, "' OR 1=1 --": false} {
		caller, err := s.Caller(t.Context(), id)
		if valid != (err == nil) || valid && (caller.Tenant != "a" || caller.Token != id) || !valid && !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("the caller %q: %+v, %v", id, caller, err)
		}
	}
	for name, text := range map[string]string{"none": "", "wrong": secret[:len(secret)-4] + "AAAA", "expired": expired, "revoked": revoked, "injection": "aibox_' OR 1=1 --"} {
		if _, err := s.Authenticate(t.Context(), text); !errors.Is(err, ErrUnauthenticated) {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := s.Tokens(t.Context())
	if err != nil || len(all) != 3 || all[0].Name != "for CI" {
		t.Fatal(all, err)
	}
	if err := s.RevokeToken(t.Context(), "nothing"); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
}

func TestTheDatabaseHoldsNoToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "api", "x.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := s.CreateToken(t.Context(), "a", "", read, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	files, _ := filepath.Glob(path + "*")
	for _, file := range files {
		if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), secret) {
			t.Errorf("%s holds the token (%v)", file, err)
		}
	}
}

func TestAKeyOfACreationIsClaimedOnce(t *testing.T) {
	s := open(t)
	alive := func(owner string) bool { return owner == "me" }
	begin := func(tenant session.Tenant, request, owner string) (Creation, error) {
		return s.BeginCreation(context.Background(), tenant, "key", request, owner, alive)
	}
	var wait sync.WaitGroup
	won := make(chan Creation, 8)
	for range 8 {
		wait.Go(func() {
			c, err := begin("a", "r", "me")
			if err == nil {
				won <- c
			} else if fault.KindOf(err) != fault.Conflict {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d callers have the key", len(won))
	}
	c := <-won
	if _, err := begin("b", "other", "me"); err != nil {
		t.Errorf("a key of another tenant is in the way: %v", err)
	}
	if err := errors.Join(s.RecordSandbox(t.Context(), c, "s1-sandbox"), s.EndCreation(t.Context(), c, true)); err != nil {
		t.Fatal(err)
	}
	if c, err := begin("a", "r", "me"); !c.Done || c.Sandbox != "s1-sandbox" || err != nil {
		t.Errorf("again: %+v, %v", c, err)
	}
	if _, err := begin("a", "r2", "me"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("another request: %v", err)
	}
	if err := s.EndCreation(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	if c, err := begin("a", "r", "me"); !c.Done || err != nil {
		t.Errorf("a creation that has succeeded was forgotten: %+v, %v", c, err)
	}
}

func TestAFailedCreationFreesItsKey(t *testing.T) {
	s := open(t)
	alive := func(string) bool { return true }
	c, err := s.BeginCreation(t.Context(), "a", "key", "r", "me", alive)
	if err == nil {
		err = s.EndCreation(t.Context(), c, false)
	}
	if err != nil {
		t.Fatal(err)
	}
	if c, err := s.BeginCreation(t.Context(), "a", "key", "r2", "me", alive); c.Done || c.Sandbox != "" || err != nil {
		t.Errorf("after a failure: %+v, %v", c, err)
	}
}

func TestTheSandboxOfADeadCreatorIsFound(t *testing.T) {
	s := open(t)
	alive := func(owner string) bool { return owner == "me" }
	dead, err := s.BeginCreation(t.Context(), "a", "key", "r", "dead", alive)
	if err == nil {
		err = s.RecordSandbox(t.Context(), dead, "s1-sandbox")
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := s.AbandonedCreations(t.Context(), alive)
	if err != nil || len(all) != 1 || all[0].Sandbox != "s1-sandbox" {
		t.Fatalf("%+v, %v", all, err)
	}
	for range 2 { // a call that fails to end the sandbox changes nothing
		if c, err := s.BeginCreation(t.Context(), "a", "key", "r", "me", alive); err != nil || c != all[0] {
			t.Fatalf("the next call: %+v, %v", c, err)
		}
	}
	if err := s.EndCreation(t.Context(), all[0], false); err != nil {
		t.Fatal(err)
	}
	mine, err := s.BeginCreation(t.Context(), "a", "key", "r", "me", alive)
	if err != nil || mine.Abandoned || mine.Sandbox != "" {
		t.Fatalf("the creation after that: %+v, %v", mine, err)
	}
	if err := s.RecordSandbox(t.Context(), dead, "s2-sandbox"); err == nil {
		t.Error("the dead one has the key again")
	}
	if err := s.EndCreation(t.Context(), all[0], false); err != nil {
		t.Fatal(err)
	}
	if err := s.RecordSandbox(t.Context(), mine, "s3-sandbox"); err != nil {
		t.Errorf("what the dead one has left ended the next creation: %v", err)
	}
	if all, err := s.AbandonedCreations(t.Context(), alive); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestKeysOfEarlierVersionsKeepTheirSandboxes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	s, err := Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.db.Exec(`DROP INDEX usage_of_sandbox; ALTER TABLE creations DROP COLUMN done; ALTER TABLE tenants DROP COLUMN defaults; PRAGMA user_version = 2;
		INSERT INTO creations VALUES ('a', 'done', 'r', 's1-sandbox', 'dead', ` + strconv.FormatInt(time.Now().UnixMilli(), 10) + `), ('a', 'begun', 'r', '', 'dead', 1)`)
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), path); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for key, done := range map[string]bool{"done": true, "begun": false} {
		c, err := s.BeginCreation(t.Context(), "a", key, "r", "me", func(owner string) bool { return owner == "me" })
		if err != nil || c.Done != done || c.Abandoned == done || (c.Sandbox != "") != done {
			t.Errorf("%s: %+v, %v", key, c, err)
		}
	}
}

func TestUsageCountsFromMidnight(t *testing.T) {
	s := open(t)
	day1 := time.Date(2026, 1, 1, 23, 0, 0, 0, time.UTC)
	day2 := day1.Add(2 * time.Hour)
	record := func(now time.Time, upload int64) {
		t.Helper()
		if err := s.RecordUsage(t.Context(), "a", now, []Used{{Sandbox: "s1", UploadBytes: upload, Tokens: 2 * upload}}); err != nil {
			t.Fatal(err)
		}
	}
	record(day1, 10)
	record(day1, 30)
	record(day2, 35)
	record(day2, 34) // an older measurement
	for now, want := range map[time.Time]int64{day1: 30, day2: 5} {
		if upload, tokens, err := s.UsageToday(t.Context(), "a", now); upload != want || tokens != 2*want || err != nil {
			t.Errorf("%v: %d, %d, %v", now, upload, tokens, err)
		}
	}
	if upload, _, err := s.UsageToday(t.Context(), "b", day1); upload != 0 || err != nil {
		t.Error("another tenant", upload, err)
	}
}

// Counting precedes each creation, and calls that only read count as well.
func TestOnlyUsageThatHasGrownIsWritten(t *testing.T) {
	s := open(t)
	now := time.Now()
	used := []Used{{Sandbox: "s1", UploadBytes: 5}, {Sandbox: "s2", Tokens: 7}, {Sandbox: "s3"}}
	if err := s.RecordUsage(t.Context(), "a", now, used); err != nil {
		t.Fatal(err)
	}
	_, token, err := s.CreateToken(t.Context(), "a", "", read, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	writing, err := s.db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = writing.Rollback() }()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	if err := s.RecordUsage(ctx, "a", now, used); err != nil {
		t.Errorf("usage that was recorded waits for a writer: %v", err)
	}
	waiting := make(chan error)
	waited, leave := context.WithCancel(t.Context())
	for range 8 {
		go func() { waiting <- s.RecordUsage(waited, "a", now, []Used{{Sandbox: "s1", UploadBytes: 6}}) }()
	}
	if _, err := s.Caller(ctx, token.ID); err != nil {
		t.Errorf("a caller waits for writers: %v", err)
	}
	leave()
	_ = writing.Rollback()
	for range 8 {
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("a writer that was given up returns %v", err)
		}
	}
}

func TestUsageOfEarlierDaysIsNotSearched(t *testing.T) {
	s := open(t)
	for _, query := range []string{usageOfDay, "SELECT sum(upload) FROM usage WHERE tenant = ? AND sandbox = ? AND day < ?"} {
		rows, err := s.db.Query("EXPLAIN QUERY PLAN "+query, "a", "s1", "a")
		if err != nil {
			t.Fatal(err)
		}
		plan := ""
		for rows.Next() {
			var id, parent, unused int
			var step string
			if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
				t.Fatal(err)
			}
			plan += step + "\n"
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || !strings.Contains(plan, "usage_of_sandbox (tenant=? AND sandbox=?") || strings.Contains(plan, "SCAN") {
			t.Errorf("%s: %v\n%s", query, err, plan)
		}
	}
}

func TestATenantHasTheDefaultQuotaUntilItIsSet(t *testing.T) {
	s := open(t)
	if q, err := s.Quota(t.Context(), "a"); err != nil || q != DefaultQuota("a") || q.Sandboxes == 0 {
		t.Error(q, err)
	}
	if q, err := s.Quota(t.Context(), session.LocalTenant); err != nil || q != (Quota{}) {
		t.Error(q, err)
	}
	if _, err := s.ChangeQuota(t.Context(), "a", func(q *Quota) { *q = Quota{Sandboxes: 2} }); err != nil {
		t.Fatal(err)
	}
	if q, err := s.Quota(t.Context(), "a"); err != nil || q != (Quota{Sandboxes: 2}) {
		t.Error(q, err)
	}
	if _, err := s.ChangeQuota(t.Context(), "a", func(q *Quota) { q.CPUs = -1 }); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}

// Two commands at the same time, each for another limit, must not undo each other.
func TestConcurrentChangesOfATenantAreAllKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.db")
	var commands [2]*Store
	for i := range commands {
		var err error
		if commands[i], err = Open(t.Context(), path); err != nil {
			t.Fatal(err)
		}
		defer commands[i].Close()
	}
	s, other := commands[0], commands[1]
	var changing sync.WaitGroup
	for range 10 {
		changing.Go(func() {
			if _, err := s.ChangeQuota(t.Context(), "a", func(q *Quota) { q.Sandboxes++ }); err != nil {
				t.Error(err)
			}
		})
		changing.Go(func() {
			if _, err := other.ChangeQuota(t.Context(), "a", func(q *Quota) { q.Memory++ }); err != nil {
				t.Error(err)
			}
		})
	}
	changing.Wait()
	before := DefaultQuota("a")
	if q, err := s.Quota(t.Context(), "a"); err != nil || q.Sandboxes != before.Sandboxes+10 || q.Memory != before.Memory+10 {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestAChangeOfATenantThatIsRefusedChangesNothing(t *testing.T) {
	s := open(t)
	if _, err := s.ChangeQuota(t.Context(), "a", func(q *Quota) { q.Sandboxes, q.Memory = 1, -1 }); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
	refused := errors.New("refused")
	if _, err := s.ChangeDefaults(t.Context(), "a", func(d *config.RunOverrides) error { return errors.Join(d.Set("memory", "512"), refused) }); !errors.Is(err, refused) {
		t.Error(err)
	}
	q, err := s.Quota(t.Context(), "a")
	defaults, defaultsErr := s.Defaults(t.Context(), "a")
	if err != nil || defaultsErr != nil || q != DefaultQuota("a") || !defaults.IsZero() {
		t.Errorf("%+v, %q, %v, %v", q, defaults.Keys(), err, defaultsErr)
	}
}
