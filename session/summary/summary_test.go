package summary

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"aibox/session"
	"aibox/session/client"
	"aibox/session/sessiontest"
	"aibox/workspace"
)

func TestAListCachesEndedSessionsUntilTheyChange(t *testing.T) {
	store := sessiontest.Store(t)
	sessions := New(client.New(store), store)
	ids := make([]session.ID, minCached+1)
	for i := range ids {
		id, err := sessions.store.Create("codex", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ids[i] = id
		sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Ended, Result: &session.Result{Changed: true}})
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

	sessiontest.Put(t, sessions.store, ids[1], session.State{Phase: session.Ended, Result: &session.Result{}, Review: session.Accepted})
	if err := os.RemoveAll(sessions.store.Dir(ids[2])); err != nil {
		t.Fatal(err)
	}
	briefs, err := sessions.Summaries()
	if err != nil || len(briefs) != len(ids)-1 || briefs[1].Review != session.Accepted || briefs[2].ID != ids[3] {
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
	store := sessiontest.Store(t)
	sessions := New(client.New(store), store)
	var ids []session.ID
	for range minCached + 2 {
		id, err := sessions.store.Create("codex", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		sessiontest.Put(t, sessions.store, id, session.State{Phase: session.Ended})
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
		for _, review := range []session.Review{"aaaaaaaa", session.Accepted, "bbbbbbbb"} {
			if err := sessions.store.WriteState(id, session.State{Phase: session.Ended, Review: review}); err != nil {
				t.Fatal(err)
			}
			if got := list()[i].Review; got != review {
				t.Fatalf("the review of %s is %q, want %q", id, got, review)
			}
		}
	}
	if err := sessions.store.Write(ids[0], session.StateFile, session.State{Phase: session.Preparing}); err != nil {
		t.Fatal(err)
	}
	if got := list()[0].Phase; got != session.Preparing {
		t.Errorf("the phase is %q", got)
	}
	if err := os.Remove(filepath.Join(sessions.store.Dir(ids[1]), session.StateFile)); err != nil {
		t.Fatal(err)
	}
	if got := list()[1].Phase; got != session.Preparing {
		t.Errorf("without a state, the phase is %q", got)
	}
	if err := os.RemoveAll(sessions.store.Dir(ids[2])); err != nil {
		t.Fatal(err)
	}
	if got := list(); len(got) != len(ids)-1 || got[2].ID != ids[3] {
		t.Errorf("%d sessions after one was removed", len(got))
	}
}

func TestARunInASubfolderIsListedByItsRepository(t *testing.T) {
	s := session.Session{Spec: session.Spec{Repository: "/home/ann/p/src"}, State: session.State{Workspace: &workspace.Workspace{Repo: "/home/ann/p", Start: "src"}}}
	if got := Of(&s).Repository; got != "/home/ann/p" {
		t.Errorf("the repository is %q", got)
	}
}

func TestTheTaskOfAShellIsItsCommand(t *testing.T) {
	for want, spec := range map[string]session.Spec{
		"make test":                 {Agent: "shell", Args: []string{"make", "test"}},
		"sh -c 'ls | head'":         {Agent: "shell", Args: []string{"sh", "-c", "ls | head"}},
		"sh -c 'first":              {Agent: "shell", Args: []string{"sh", "-c", "first\nsecond"}},
		"a prompt":                  {Agent: "shell", Args: []string{"make"}, Prompt: "a prompt\nand more"},
		"":                          {Agent: "codex", Args: []string{"--search"}},
		"(feedback on 0dq4f-shell)": {Agent: "shell", Feedback: "x", Resumes: "0dq4f-shell"},
	} {
		record := session.Session{Spec: spec}
		if got := Of(&record).Task; got != want {
			t.Errorf("%+v has the task %q, want %q", spec, got, want)
		}
	}
}
