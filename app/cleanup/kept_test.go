package cleanup

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/audit"
	"aibox/review"
	"aibox/review/accept"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/manager"
	"aibox/workspace"
)

func TestUnreviewedWorkIsNeverCollected(t *testing.T) {
	for name, change := range map[string]func(*fixture, *session.Session){
		"unreviewed":      func(*fixture, *session.Session) {},
		"partly reviewed": func(_ *fixture, s *session.Session) { s.State.Review = session.PartlyAccepted },
		"not computed": func(_ *fixture, s *session.Session) {
			s.State.Result.Changed, s.State.Result.Changes = false, session.Changes{Notes: []string{"not computed"}}
		},
		"computing was interrupted": func(_ *fixture, s *session.Session) {
			s.State.Result.Changes = session.Changes{Unknown: session.NotComputedYet, Tries: 2}
		},
		"without a result": func(_ *fixture, s *session.Session) { s.State.Result = nil },
		"its workspace deleted by hand": func(d *fixture, s *session.Session) {
			d.must(os.RemoveAll(s.State.Workspace.Path))
		},
		"not computed, and its workspace deleted": func(d *fixture, s *session.Session) {
			s.State.Result.Changed, s.State.Result.Changes = false, session.Changes{}
			d.must(os.RemoveAll(s.State.Workspace.Path))
		},
		"accepted and changed since": func(d *fixture, s *session.Session) {
			s.State.Review = session.Accepted
			d.write(filepath.Join(s.State.Workspace.Path, "later.txt"), "later\n")
		},
		"nothing changed, but since": func(_ *fixture, s *session.Session) { s.State.Result.Changed = false },
		"accepted, and its baseline is damaged": func(d *fixture, s *session.Session) {
			s.State.Review = session.Accepted
			d.must(os.WriteFile(s.State.Workspace.Baseline, []byte("x"), 0o600))
		},
		"accepted, and the decisions are damaged": func(d *fixture, s *session.Session) {
			s.State.Review = session.Accepted
			d.must(os.WriteFile(filepath.Join(d.store.Dir(s.ID), "decisions.json"), []byte("x"), 0o600))
		},
		"of an unknown review": func(_ *fixture, s *session.Session) { s.State.Review = "whatever" },
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			ws := d.ended("00001-a", "one.txt")
			session, err := d.store.Load("00001-a")
			d.must(err)
			change(d, &session)
			d.must(d.store.WriteState("00001-a", session.State))
			d.aged("00001-a", 9*month)
			d.predate(ws.GitDir, 9*month)
			gone, _ := ws.Gone()
			for range 2 {
				r := d.collect(func(o *Options) { o.OlderThan = 0 })
				if len(r.Kept) != 1 || r.Kept[0].What != "session 00001-a" || slices.ContainsFunc(r.Freed, func(f Freed) bool { return f.Kind != KindObjects }) {
					t.Fatalf("kept is %+v, freed\n%s", r.Kept, freed(r))
				}
			}
			if now, _ := ws.Gone(); now != gone {
				t.Error("the workspace is gone")
			}
			d.gitIn(ws.GitDir, "cat-file", "-e", "refs/aibox/00001-a/work:one.txt")
		})
	}
}

func TestRunningAndUnreadableSessionsAreKeptWithTheirFiles(t *testing.T) {
	t.Run("running", func(t *testing.T) {
		d := newFixture(t)
		d.prepared("00001-a")
		held, err := d.store.Lock("00001-a")
		d.must(err)
		defer held.Close()
		d.aged("00001-a", 9*month)
		if r := d.collect(func(o *Options) { o.OlderThan = 0 }); len(r.Freed) > 0 {
			t.Errorf("freed is\n%s", freed(r))
		}
	})
	t.Run("used by another command", func(t *testing.T) {
		d := newFixture(t)
		d.accepted("00001-a", "one.txt")
		d.aged("00001-a", 9*month)
		held, err := d.store.Lock("00001-a")
		d.must(err)
		defer held.Close()
		if r := d.collect(); len(r.Freed) > 0 {
			t.Errorf("freed is\n%s", freed(r))
		}
	})
	t.Run("damaged", func(t *testing.T) {
		d := newFixture(t)
		ws := d.accepted("00001-a", "one.txt")
		d.aged("00001-a", 9*month)
		d.must(os.WriteFile(filepath.Join(d.store.Dir("00001-a"), "state.json"), []byte("{"), 0o600))
		d.predate(ws.GitDir, 9*month)
		d.write(filepath.Join(d.dirs.Workspace, "other", "x"), "x")
		r := d.collect()
		if got := freed(r); got != "saved states 1: 1" {
			t.Errorf("freed is\n%s", got)
		}
		var kept []string
		for _, k := range r.Kept {
			kept = append(kept, filepath.Base(k.What))
		}
		if want := []string{"session 00001-a", filepath.Base(ws.GitDir), "other", "project"}; !slices.Equal(kept, want) {
			t.Errorf("kept is %q, not %q", kept, want)
		}
		d.gitIn(ws.GitDir, "cat-file", "-e", "refs/aibox/00001-a/work:one.txt")
	})
	for _, file := range []string{session.SpecFile, session.StateFile} {
		t.Run("without "+file, func(t *testing.T) { // which only a repair restores
			d := newFixture(t)
			ws := d.ended("00001-a", "one.txt")
			d.must(auditlog.Command{}.Append(d.store, "00001-a", audit.AgentStarted, nil))
			d.must(os.Remove(filepath.Join(d.store.Dir("00001-a"), file)))
			d.predate(ws.GitDir, 9*month)
			if r := d.collect(); len(r.Freed) > 0 {
				t.Errorf("freed is\n%s", freed(r))
			}
			d.gitIn(ws.GitDir, "cat-file", "-e", "refs/aibox/00001-a/work:one.txt")
			if _, err := os.Lstat(ws.Baseline); err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("a repository in use", func(t *testing.T) {
		d := newFixture(t)
		ws := d.accepted("00001-a", "one.txt")
		d.must(d.Remove(t.Context(), "00001-a", false))
		d.predate(ws.GitDir, 9*month)
		release, err := workspace.Hold(t.Context(), ws.GitDir)
		d.must(err)
		defer release()
		if r := d.collect(); len(r.Freed) > 0 || len(r.Kept) != 1 {
			t.Errorf("freed is\n%s\nkept %+v", freed(r), r.Kept)
		}
	})
}

// The records of sessions can be elsewhere: in another XDG_STATE_HOME, or on a disk that is
// not mounted. Without its baseline, the work in a workspace could not be reviewed again.
func TestTheBaselineOfAWorkspaceWithoutARecordIsKept(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	d.predate(ws.GitDir, 9*month)
	elsewhere := d.dirs
	elsewhere.State = d.dirs.Home + "/elsewhere"
	collect := func(o Options) *Report {
		o.OlderThan, o.minScratchAge = month, -1
		r, err := newCleaner(elsewhere, d.docker, o).run(t.Context())
		d.must(err)
		return r
	}
	for _, dry := range []bool{true, false} {
		r := collect(Options{DryRun: dry})
		if len(r.Freed) > 0 {
			t.Errorf("freed is\n%s", freed(r))
		}
		if len(r.Kept) != 2 || r.Kept[0].What != "repository "+ws.GitDir || r.Kept[1].What != ws.Path {
			t.Errorf("kept is %+v", r.Kept)
		}
	}
	if got := d.files("00001-a"); got != "one.txt" {
		t.Errorf("it changes %q", got)
	}
	d.must(os.RemoveAll(ws.Path))
	if got := freed(collect(Options{})); got != "repositories 1: "+filepath.Base(ws.GitDir) {
		t.Errorf("without the workspace, freed is\n%s", got)
	}
}

func TestASessionThatAQueuedOneIsToContinueIsKept(t *testing.T) {
	for name, change := range map[string]func(*session.Spec){
		"resumed": func(s *session.Spec) { s.Resumes = "00001-a" },
		"forked":  func(s *session.Spec) { s.Forks = "00001-a" },
	} {
		d := newFixture(t)
		ws := d.accepted("00001-a", "one.txt")
		d.aged("00001-a", 9*month)
		d.must(os.Mkdir(d.store.Dir("00002-b"), 0o700))
		held, err := d.store.Lock("00002-b")
		d.must(err)
		spec := session.Spec{ID: "00002-b", Created: session.Now(), Agent: "shell"}
		change(&spec)
		d.must(d.store.WriteSpec("00002-b", spec))
		d.must(d.store.WriteState("00002-b", session.State{Phase: session.Queued, Queue: &session.Queue{}}))
		r := d.collect(func(o *Options) { o.OlderThan = 0 })
		if gone, _ := ws.Gone(); gone || len(r.Kept) != 1 || r.Kept[0].Why != "00002-b waits to continue it" {
			t.Errorf("%s: kept is %+v, freed\n%s", name, r.Kept, freed(r))
		}
		d.must(d.store.Remove(t.Context(), "00002-b"))
		d.must(held.Close())
		d.aged("00001-a", 9*month)
		if r := d.collect(); !strings.Contains(freed(r), "sessions 1: 00001-a") {
			t.Errorf("%s: afterwards, freed is\n%s", name, freed(r))
		}
	}
}

func TestASessionThatOneQueuedDuringTheCleanupIsToContinueIsKept(t *testing.T) {
	d := newFixture(t)
	d.accepted("00001-a", "one.txt")
	d.accepted("00003-a", "three.txt")
	r := d.collect(func(o *Options) {
		o.OlderThan = 0
		o.step = func(what string) {
			if what == "lock 00003-a" {
				d.must(os.Mkdir(d.store.Dir("00004-b"), 0o700))
				d.must(d.store.WriteSpec("00004-b", session.Spec{ID: "00004-b", Created: session.Now(), Agent: "shell", Resumes: "00001-a"}))
				d.must(d.store.WriteState("00004-b", session.State{Phase: session.Queued, Queue: &session.Queue{}}))
			}
		}
	})
	if len(r.Kept) != 1 || r.Kept[0].What != "session 00001-a" || r.Kept[0].Why != "00004-b waits to continue it" {
		t.Errorf("kept is %+v, freed\n%s", r.Kept, freed(r))
	}
}

func TestASessionWhoseSandboxStillRunsIsKept(t *testing.T) {
	d := newFixture(t)
	ws := d.accepted("00001-a", "one.txt")
	s, err := d.store.Load("00001-a")
	d.must(err)
	s.State.Sandbox, err = runtime.FindProcess(os.Getpid())
	d.must(err)
	d.must(d.store.WriteState("00001-a", s.State))
	d.aged("00001-a", 9*month)
	r := d.collect()
	if gone, _ := ws.Gone(); gone || len(r.Kept) != 1 || r.Kept[0].Why != "its sandbox still runs" {
		t.Errorf("kept is %+v, freed\n%s", r.Kept, freed(r))
	}
}

// A session can change until it is locked.
func TestASessionThatChangesDuringCleanupIsKept(t *testing.T) {
	d := newFixture(t)
	d.accepted("00001-a", "one.txt")
	d.aged("00001-a", 9*month)
	changed, err := d.store.Load("00001-a")
	d.must(err)
	changed.State.Review = session.Unreviewed
	r := d.collect(func(o *Options) {
		o.step = func(what string) {
			if what == "lock 00001-a" {
				d.must(d.store.WriteState("00001-a", changed.State))
			}
		}
	})
	if len(r.Freed) > 0 {
		t.Errorf("freed is\n%s", freed(r))
	}
}

// With any sessions of any age, work that is not fully reviewed stays unchanged, and all
// states that must still be kept can be read.
func TestCleanupNeverLosesUnreviewedWork(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			losesNothing(t, rand.New(rand.NewPCG(seed, 7)))
		})
	}
}

func losesNothing(t *testing.T, random *rand.Rand) {
	d := newFixture(t)
	work := map[session.ID]string{}
	var gitDir string
	for n := range 8 {
		id := session.ID(fmt.Sprintf("%05d-x", n))
		ws := d.ended(id, []string{"one.txt", "two.txt", "deep/three.txt"}[:random.IntN(4)]...)
		gitDir = ws.GitDir
		switch random.IntN(5) {
		case 0:
			_, _ = d.Accept(t.Context(), id, everything)
		case 1:
			_, _ = d.Accept(t.Context(), id, accept.Options{Choice: review.Choice{Files: []string{"one.txt"}}})
		case 2:
			_, err := d.Discard(t.Context(), id)
			d.must(err)
		case 3:
			next := session.ID(fmt.Sprintf("%05d-y", n))
			d.resumed(id, next, "more.txt")
			d.aged(next, time.Duration(random.IntN(60*24))*time.Hour)
		}
		if random.IntN(4) == 0 {
			if gone, _ := ws.Gone(); !gone {
				d.write(filepath.Join(ws.Path, "later.txt"), "later\n")
			}
		}
		d.aged(id, time.Duration(random.IntN(60*24))*time.Hour)
	}
	sessions, err := d.List()
	d.must(err)
	for _, s := range sessions {
		set, err := d.Changes(t.Context(), s.ID)
		d.must(err)
		decisions, err := manager.DecisionsOf(d.store, s.ID)
		d.must(err)
		if s.State.ContinuedBy == "" && s.State.Review != session.Discarded && !decisions.Taken.Complete(set) {
			work[s.ID] = set.Tree
		}
	}
	if random.IntN(2) == 0 {
		d.predate(gitDir, time.Duration(random.IntN(60*24))*time.Hour)
	}
	promised, err := d.Recoverable(t.Context(), "")
	d.must(err)
	options := Options{OlderThan: time.Duration(random.IntN(40*24)) * time.Hour, minScratchAge: -1}
	for range 2 {
		if _, err := newCleaner(d.dirs, d.docker, options).run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(gitDir); err == nil {
		d.gitIn(gitDir, "gc", "--quiet", "--prune=now")
		d.gitIn(gitDir, "fsck", "--strict")
	}
	for id, tree := range work {
		set, err := d.Changes(t.Context(), id)
		if err != nil || set.Tree != tree {
			t.Errorf("the work of %s is not what it was: %v", id, err)
		}
	}
	for _, state := range promised {
		if time.Now().Before(state.Until) {
			if _, err := state.Changes(context.Background()); err != nil {
				t.Errorf("%s was promised: %v", state.Ref, err)
			}
		}
	}
}
