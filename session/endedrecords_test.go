package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// storeSandbox stores a sandbox that has ended, with this much metadata.
func storeSandbox(t testing.TB, s Store, tenant Tenant, name string, metadata int) ID {
	t.Helper()
	id, err := s.Create(SandboxAgent, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{ID: id, Agent: SandboxAgent, Sandbox: &SandboxSpec{Tenant: tenant, Template: name}, Metadata: map[string]string{}}
	for i := range metadata {
		spec.Metadata[fmt.Sprint(i)] = strings.Repeat("x", 1<<10)
	}
	if err := s.WriteSpec(id, spec); err != nil {
		t.Fatal(err)
	}
	if err := s.Write(id, StateFile, storedState{State: State{Phase: Ended, Result: &Result{}}, Format: recordFormat}); err != nil {
		t.Fatal(err)
	}
	return id
}

// torn replaces the beginning of a record's spec, so that only its version is as before.
func torn(t *testing.T, r *Reader, id ID) {
	t.Helper()
	path := filepath.Join(r.store.Dir(id), SpecFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(data, "torn")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	record, ok := r.ended.known[id]
	if !ok {
		t.Fatalf("the record of %s is not kept", id)
	}
	if record.version, err = r.store.versionOf(id); err != nil {
		t.Fatal(err)
	}
	r.ended.known[id] = record
}

func TestEndedRecordsAreDecodedOnceUntilTheyChange(t *testing.T) {
	r := NewReader(testStore(t))
	id := storeSandbox(t, r.store, "a", "first", 1)
	other := storeSandbox(t, r.store, "b", "other", 1)
	named := func(tenant Tenant, want string) {
		t.Helper()
		found, err := r.Sandboxes(tenant)
		if err != nil || len(found) != 1 || found[0].Sandbox.Template != want {
			t.Errorf("the tenant %s has %+v, %v", tenant, found, err)
		}
	}
	named("a", "first")
	torn(t, r, id)
	torn(t, r, other)
	named("a", "first")
	if all, err := r.List(); err != nil || len(all) != 2 {
		t.Errorf("%d are listed: %v", len(all), err)
	}
	spec := Spec{ID: id, Agent: SandboxAgent, Sandbox: &SandboxSpec{Tenant: "a", Template: "second"}}
	if err := r.store.WriteSpec(id, spec); err != nil {
		t.Fatal(err)
	}
	named("a", "second")
	if err := os.RemoveAll(r.store.Dir(other)); err != nil {
		t.Fatal(err)
	}
	named("a", "second")
	if len(r.ended.known) != 1 {
		t.Errorf("%d records are kept", len(r.ended.known))
	}
}

func TestRecordsOfRemovedSessionsAreForgotten(t *testing.T) {
	for name, list := range map[string]func(*Reader) ([]Session, error){"a list": (*Reader).List, "a count": (*Reader).Countable} {
		r := NewReader(testStore(t))
		removed := storeSandbox(t, r.store, "a", "", 1)
		storeSandbox(t, r.store, "a", "", 1)
		for want := 2; want > 0; want-- {
			if all, err := list(r); err != nil || len(all) != want || len(r.ended.known) != want {
				t.Errorf("%s: %d, %v; %d records are kept", name, len(all), err, len(r.ended.known))
			}
			if err := os.RemoveAll(r.store.Dir(removed)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestARecordIsKeptAsAWholeOnceThereIsRoom(t *testing.T) {
	r := NewReader(testStore(t))
	id := storeSandbox(t, r.store, "a", "first", 1)
	r.ended.size = maxEndedRecords
	for _, whole := range []bool{false, true} {
		if _, err := r.Sandboxes("a"); err != nil || r.ended.known[id].whole != whole {
			t.Errorf("whole: %t, %v", r.ended.known[id].whole, err)
		}
		r.ended.size = 0
	}
}

func TestKeptRecordsAreBounded(t *testing.T) {
	r := NewReader(testStore(t))
	id := storeSandbox(t, r.store, "a", "first", 1)
	other := storeSandbox(t, r.store, "b", "other", 1)
	r.ended.size = maxEndedRecords
	for range 2 {
		found, err := r.Sandboxes("a")
		if err != nil || len(found) != 1 || found[0].Sandbox.Template != "first" {
			t.Errorf("%+v, %v", found, err)
		}
	}
	if r.ended.known[id].session.Metadata != nil || r.ended.known[id].whole || r.ended.size != maxEndedRecords {
		t.Errorf("%+v is kept", r.ended.known[id])
	}
	torn(t, r, other)
	if _, err := r.Sandboxes("a"); err != nil {
		t.Errorf("the record of another tenant is decoded: %v", err)
	}
	if _, err := r.Sandboxes("b"); err == nil {
		t.Error("a record that is not kept as a whole is not decoded")
	}
	r.ended.forget(id)
	if r.ended.size != maxEndedRecords {
		t.Errorf("%d bytes are kept", r.ended.size-maxEndedRecords)
	}
}

func BenchmarkSandboxesBesideEndedOnes(b *testing.B) {
	r := NewReader(testStore(b))
	for range 300 {
		storeSandbox(b, r.store, "other", "", 64)
	}
	for b.Loop() {
		if _, err := r.Sandboxes("a"); err != nil {
			b.Fatal(err)
		}
	}
}

func TestUnreadableRecordsCountOnlyWhileTheyAreHeld(t *testing.T) {
	r := NewReader(testStore(t))
	storeSandbox(t, r.store, "a", "first", 1)
	for _, agent := range []string{SandboxAgent, "codex"} {
		id, err := r.store.Create(agent, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(r.store.Dir(id), SpecFile), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := r.List(); err == nil {
			t.Error("the list does not name it")
		}
		count := map[string]func() ([]Session, error){
			"all sessions": r.Countable,
			SandboxAgent:   func() ([]Session, error) { return r.CountableSandboxes("a") },
		}
		for what, count := range count {
			if all, err := count(); err != nil || len(all) != 1 {
				t.Errorf("%s beside a dead %s: %d, %v", what, agent, len(all), err)
			}
		}
		held, err := lock(r.store.Dir(id))
		if err != nil {
			t.Fatal(err)
		}
		for what, count := range count {
			if _, err := count(); (err == nil) != (what == SandboxAgent && agent == "codex") {
				t.Errorf("%s beside a running %s: %v", what, agent, err)
			}
		}
		_ = held.Close()
	}
}
