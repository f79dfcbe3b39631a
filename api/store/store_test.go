package store

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	aiboxv1 "aibox/api/aibox/v1"
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
	begin := func(tenant session.Tenant, request, owner string) (session.ID, error) {
		return s.BeginCreation(context.Background(), tenant, "key", request, owner, alive)
	}
	var wait sync.WaitGroup
	won := make(chan bool, 8)
	for range 8 {
		wait.Go(func() {
			_, err := begin("a", "r", "me")
			won <- err == nil
			if err != nil && fault.KindOf(err) != fault.Conflict {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	close(won)
	n := 0
	for one := range won {
		if one {
			n++
		}
	}
	if n != 1 {
		t.Fatalf("%d callers have the key", n)
	}
	if _, err := begin("b", "other", "me"); err != nil {
		t.Errorf("a key of another tenant is in the way: %v", err)
	}
	if err := s.EndCreation(t.Context(), "a", "key", "s1-sandbox"); err != nil {
		t.Fatal(err)
	}
	if id, err := begin("a", "r", "me"); id != "s1-sandbox" || err != nil {
		t.Errorf("again: %q, %v", id, err)
	}
	if _, err := begin("a", "r2", "me"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("another request: %v", err)
	}
	if err := s.EndCreation(t.Context(), "a", "key", ""); err != nil {
		t.Fatal(err)
	}
	if id, err := begin("a", "r2", "dead"); id != "" || err != nil {
		t.Errorf("after a failure: %q, %v", id, err)
	}
	if id, err := begin("a", "r2", "me"); id != "" || err != nil {
		t.Errorf("after the death of its server: %q, %v", id, err)
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

func TestATenantHasTheDefaultQuotaUntilItIsSet(t *testing.T) {
	s := open(t)
	if q, err := s.Quota(t.Context(), "a"); err != nil || q != DefaultQuota("a") || q.Sandboxes == 0 {
		t.Error(q, err)
	}
	if q, err := s.Quota(t.Context(), session.LocalTenant); err != nil || q != (Quota{}) {
		t.Error(q, err)
	}
	if err := s.SetQuota(t.Context(), "a", Quota{Sandboxes: 2}); err != nil {
		t.Fatal(err)
	}
	if q, err := s.Quota(t.Context(), "a"); err != nil || q != (Quota{Sandboxes: 2}) {
		t.Error(q, err)
	}
	if err := s.SetQuota(t.Context(), "a", Quota{CPUs: -1}); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}
