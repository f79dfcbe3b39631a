package session

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"aibox/review/recovery"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func TestIDsOfRemovedSessionsAreNotReused(t *testing.T) {
	d := newFixture(t)
	seen := map[ID]bool{}
	next := func(agent string, at time.Time) ID {
		id, err := d.store.Create(agent, at)
		d.must(err)
		if seen[id] {
			t.Errorf("%s came twice", id)
		}
		seen[id] = true
		return id
	}
	for range 3 {
		id := next("codex", noon)
		d.must(d.store.Remove(t.Context(), id))
	}
	next("codex", noon.Add(-time.Hour)) // the clock was set back
	d.must(os.RemoveAll(d.dirs.State))  // all records are lost
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

// Earlier versions stored no number, used the numbers of coming minutes and did not
// remember that.
func TestIDsAreNewerThanThoseOfEarlierVersions(t *testing.T) {
	d := newFixture(t)
	ahead := func(minutes int) ID { return newID("codex", int64(noon.Sub(epoch)/time.Minute)+int64(minutes)) }
	d.ended(ahead(3), "one.txt")
	d.ended(ahead(7), "two.txt")
	d.must(d.Remove(t.Context(), ahead(7), true)) // the repository still has its work
	for name, last := range map[string]string{"no number": "", "a torn number": "\x00\x00\x00", "half a number": "0d"} {
		d.must(os.WriteFile(filepath.Join(d.dirs.Data, lastFile), []byte(last), 0o600))
		want := newID("codex", (ahead(8).number()/prefixSpan+1)*prefixSpan) // the other ids with its prefix begin like ahead(3)
		if id, err := d.store.Create("codex", noon); id != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", name, id, err, want)
		} else {
			d.must(d.store.Remove(t.Context(), id))
		}
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

// An earlier version reused an id when its session was removed within the minute, so that
// the work of two sessions has the same name.
func TestWorkOfTwoSessionsWithTheSameIDIsReachable(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	d.must(d.Remove(t.Context(), "00001-a", true))
	first := d.repo
	d.repo = filepath.Join(d.dirs.Home, "other")
	d.write(filepath.Join(d.repo, "a.txt"), "one\n")
	for _, args := range [][]string{{"init", "-q"}, {"config", "user.name", "Ann"}, {"config", "user.email", "a@example.org"}, {"add", "-A"}, {"commit", "-qm", "x"}} {
		d.git(args...)
	}
	d.ended("00001-a", "two.txt")
	d.must(d.Remove(t.Context(), "00001-a", true))

	all, err := d.Recoverable(t.Context(), "00001-a")
	d.must(err)
	if len(all) != 2 || all[0].Handle == all[1].Handle {
		t.Fatalf("these cannot be distinguished: %+v", all)
	}
	repos := map[string]string{"one.txt": first, "two.txt": d.repo}
	for _, saved := range all {
		found, err := Pick(all, "00001-a", saved.Handle)
		d.must(err)
		restored, err := d.Restore(t.Context(), found, "")
		d.must(err)
		for name, repo := range repos {
			if repo == restored.Repo && d.gitIn(repo, "show", restored.Branch+":"+name) != name {
				t.Errorf("%s has another's work", restored.Branch)
			}
		}
	}
	var whole recovery.Point
	if whole, err = Pick(all, "", all[1].Commit); err != nil || whole.GitDir != all[1].GitDir {
		t.Errorf("the commit names %+v, %v", whole, err)
	}
}
