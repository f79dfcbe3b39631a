package manager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestChangesThatCannotBeAssessedSayWhy has no workspace any more, and settings that git cannot read.
func TestChangesThatCannotBeAssessedSayWhy(t *testing.T) {
	for rules, want := range map[string]string{
		"":  "risks are not known: looking for risks: reading your git settings: ",
		"1": "risks are those of earlier rules: looking for risks: reading your git settings: ",
	} {
		d := newFixture(t)
		ws := d.ended("00001-a", ".envrc")
		set, err := d.store.ReadChanges("00001-a")
		d.must(err)
		set.Rules = rules
		d.must(d.store.WriteChanges("00001-a", set))
		d.must(os.RemoveAll(ws.Path))
		config := filepath.Join(d.repo, ".git/config")
		settings, err := os.ReadFile(config)
		d.must(err)
		d.write(config, "[core\n")
		set, err = d.Changes(t.Context(), "00001-a")
		d.must(err)
		if notes := strings.Join(set.Notes, "\n"); !strings.HasPrefix(notes, want) {
			t.Errorf("with the rules %q: notes: %q", rules, notes)
		}

		d.write(config, string(settings))
		set, err = d.Changes(t.Context(), "00001-a")
		d.must(err)
		if len(set.Notes) > 0 || len(set.Changes[0].Risks) == 0 {
			t.Errorf("with readable settings: %q, %+v", set.Notes, set.Changes)
		}
	}
}
