package session

import (
	"os"
	"testing"
	"time"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestIDsOfRemovedSessionsAreNotReused(t *testing.T) {
	s := testStore(t)
	seen := map[ID]bool{}
	next := func(agent string, at time.Time) ID {
		id, err := s.Create(agent, at)
		if err != nil {
			t.Fatal(err)
		}
		if seen[id] {
			t.Errorf("%s came twice", id)
		}
		seen[id] = true
		return id
	}
	for range 3 {
		id := next("codex", noon)
		if err := s.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	next("codex", noon.Add(-time.Hour))                // the clock was set back
	if err := os.RemoveAll(s.dirs.State); err != nil { // all records are lost
		t.Fatal(err)
	}
	next("codex", noon)
}

func TestIDsSortByAgeForAllAgents(t *testing.T) {
	s := testStore(t)
	var last ID
	for _, agent := range []string{"shell", "codex", "aider", "shell"} {
		id, err := s.Create(agent, noon)
		if err != nil {
			t.Fatal(err)
		}
		if id <= last || len(last) > 0 && id[:5] == last[:5] {
			t.Errorf("%s came behind %s", id, last)
		}
		last = id
	}
}

func TestTheFirstFourCharactersOfIDsDiffer(t *testing.T) {
	s := testStore(t)
	seen := map[ID]bool{}
	for range 20 {
		id, err := s.Create("codex", noon)
		if err != nil {
			t.Fatal(err)
		}
		if seen[id[:4]] {
			t.Errorf("%s begins like an earlier id", id)
		}
		seen[id[:4]] = true
		if _, err := s.CreateVerification(noon); err != nil { // its id is never typed
			t.Fatal(err)
		}
	}
	later, err := s.Create("codex", noon.Add(24*time.Hour))
	if want := newID("codex", int64(noon.Add(24*time.Hour).Sub(epoch)/time.Minute)); err != nil || later != want {
		t.Errorf("the next day it is %s, %v; want %s", later, err, want)
	}
}

func TestConcurrentStartsGetDistinctIDs(t *testing.T) {
	s := testStore(t)
	ids := make(chan ID)
	for range 40 {
		go func() {
			id, err := s.Create("codex", noon)
			if err != nil {
				t.Error(err)
			}
			ids <- id
		}()
	}
	numbers := map[int64]bool{}
	for range 40 {
		numbers[(<-ids).number()] = true
	}
	if len(numbers) != 40 {
		t.Errorf("40 sessions have %d numbers", len(numbers))
	}
}
