package manager

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"aibox/review/recovery"
	"aibox/session"
)

// Earlier versions stored no number, used the numbers of coming minutes and did not
// remember that.
func TestIDsAreNewerThanThoseOfEarlierVersions(t *testing.T) {
	d := newFixture(t)
	noon := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	number := int64(noon.Sub(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) / time.Minute)
	idOf := func(number int64) session.ID {
		return session.ID(fmt.Sprintf("%05s-codex", strconv.FormatInt(number, 36)))
	}
	ahead := func(minutes int64) session.ID { return idOf(number + minutes) }
	d.ended(ahead(3), "one.txt")
	d.ended(ahead(7), "two.txt")
	d.must(d.Remove(t.Context(), ahead(7), true)) // the repository still has its work
	for name, last := range map[string]string{"no number": "", "a torn number": "\x00\x00\x00", "half a number": "0d"} {
		d.must(os.WriteFile(filepath.Join(d.dirs.Data, "last-session"), []byte(last), 0o600))
		want := idOf(((number+8)/36 + 1) * 36) // the other ids with its prefix begin like ahead(3)
		if id, err := d.store.Create("codex", noon); id != want || err != nil {
			t.Errorf("%s: %s, %v; want %s", name, id, err, want)
		} else {
			d.must(d.store.Remove(t.Context(), id))
		}
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
