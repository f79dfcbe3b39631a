package summary

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"aibox/config"
	"aibox/netguard"
	"aibox/workspace"
)

func TestAListCachesEndedSessionsUntilTheyChange(t *testing.T) {
	store := testStore(t)
	sessions := newLister(newClient(store), store)
	ids := make([]ID, minCached+1)
	for i := range ids {
		id, err := sessions.store.Create("codex", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id
		storeSession(t, sessions.store, id, State{Phase: Ended, Result: &Result{Changed: true}})
	}
	for range 2 {
		briefs, err := sessions.Summaries()
		if err != nil || len(briefs) != len(ids) || !briefs[0].Changed || briefs[0].Task != "first line" {
			t.Fatalf("%d briefs, %v", len(briefs), err)
		}
	}
	if _, err := os.Stat(filepath.Join(sessions.store.Root(), summaryCacheFile)); err != nil {
		t.Fatal(err)
	}

	storeSession(t, sessions.store, ids[1], State{Phase: Ended, Result: &Result{}, Review: Accepted})
	if err := os.RemoveAll(sessions.store.Dir(ids[2])); err != nil {
		t.Fatal(err)
	}
	briefs, err := sessions.Summaries()
	if err != nil || len(briefs) != len(ids)-1 || briefs[1].Review != Accepted || briefs[2].ID != ids[3] {
		t.Fatalf("%d briefs, %v", len(briefs), err)
	}

	if err := os.WriteFile(filepath.Join(sessions.store.Root(), summaryCacheFile), []byte("{damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := sessions.Summaries(); err != nil || len(again) != len(briefs) {
		t.Fatalf("%d briefs after damage, %v", len(again), err)
	}
}

func TestACachedSummaryIsNotUsedForANewState(t *testing.T) {
	store := testStore(t)
	sessions := newLister(newClient(store), store)
	var ids []ID
	for range minCached + 2 {
		id, err := sessions.store.Create("codex", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		storeSession(t, sessions.store, id, State{Phase: Ended})
	}
	list := func() []Summary {
		t.Helper()
		briefs, err := sessions.Summaries()
		if err != nil {
			t.Fatal(err)
		}
		return briefs
	}
	list()
	for i, id := range ids { // states of the same length, one after the other
		for _, review := range []Review{"aaaaaaaa", Accepted, "bbbbbbbb"} {
			if err := sessions.store.WriteState(id, State{Phase: Ended, Review: review}); err != nil {
				t.Fatal(err)
			}
			if got := list()[i].Review; got != review {
				t.Fatalf("the review of %s is %q, want %q", id, got, review)
			}
		}
	}
	if err := sessions.store.write(ids[0], stateFile, State{Phase: Preparing}); err != nil {
		t.Fatal(err)
	}
	if got := list()[0].Phase; got != Preparing {
		t.Errorf("the phase is %q", got)
	}
	if err := os.Remove(filepath.Join(sessions.store.Dir(ids[1]), stateFile)); err != nil {
		t.Fatal(err)
	}
	if got := list()[1].Phase; got != Preparing {
		t.Errorf("without a state, the phase is %q", got)
	}
	if err := os.RemoveAll(sessions.store.Dir(ids[2])); err != nil {
		t.Fatal(err)
	}
	if got := list(); len(got) != len(ids)-1 || got[2].ID != ids[3] {
		t.Errorf("%d sessions after one was removed", len(got))
	}
}

func storeSession(t *testing.T, s Store, id ID, state State) {
	t.Helper()
	if err := s.write(id, specFile, Spec{ID: id, Prompt: "first line\nsecond", Run: config.Run{Network: netguard.None.String()}}); err != nil {
		t.Fatal(err)
	}
	if err := s.write(id, stateFile, state); err != nil {
		t.Fatal(err)
	}
}

func TestARunInASubfolderIsListedByItsRepository(t *testing.T) {
	s := Session{Spec: Spec{Repository: "/home/ann/p/src"}, State: State{Workspace: &workspace.Workspace{Repo: "/home/ann/p", Start: "src"}}}
	if got := SummaryOf(&s).Repository; got != "/home/ann/p" {
		t.Errorf("the repository is %q", got)
	}
}

func TestTheTaskOfAShellIsItsCommand(t *testing.T) {
	for want, spec := range map[string]Spec{
		"make test":                 {Agent: "shell", Args: []string{"make", "test"}},
		"sh -c 'ls | head'":         {Agent: "shell", Args: []string{"sh", "-c", "ls | head"}},
		"sh -c 'first":              {Agent: "shell", Args: []string{"sh", "-c", "first\nsecond"}},
		"a prompt":                  {Agent: "shell", Args: []string{"make"}, Prompt: "a prompt\nand more"},
		"":                          {Agent: "codex", Args: []string{"--search"}},
		"(feedback on 0dq4f-shell)": {Agent: "shell", Feedback: "x", Resumes: "0dq4f-shell"},
	} {
		session := Session{Spec: spec}
		if got := SummaryOf(&session).Task; got != want {
			t.Errorf("%+v has the task %q, want %q", spec, got, want)
		}
	}
}
