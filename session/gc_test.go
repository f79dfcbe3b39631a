package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/review"
	"aibox/workspace"
)

const month = 30 * 24 * time.Hour

// collect tidies with a retention of a month, and scratch of any age.
func (d *desk) collect(change ...func(*GCOptions)) *GCReport {
	d.t.Helper()
	options := GCOptions{OlderThan: month, settle: -1}
	for _, f := range change {
		f(&options)
	}
	report, err := d.GC(d.t.Context(), options)
	d.must(err)
	return report
}

func dryRun(o *GCOptions) { o.DryRun = true }

// freed is what a report says, as "kind count: names", one line a kind.
func freed(r *GCReport) string {
	var lines []string
	for _, f := range r.Freed {
		names := slices.Clone(f.Names)
		for i := range names {
			names[i] = filepath.Base(names[i])
		}
		if f.Kind == GCObjects {
			f.Count = len(names) // a dry run cannot count them to the last one
		}
		lines = append(lines, fmt.Sprintf("%s %d: %s", f.Kind, f.Count, strings.Join(names, " ")))
	}
	return strings.Join(lines, "\n")
}

// accepted is an ended session all of whose work is on a branch.
func (d *desk) accepted(id ID, files ...string) *workspace.Workspace {
	d.t.Helper()
	ws := d.ended(id, files...)
	_, err := d.Accept(d.t.Context(), id, review.AcceptOptions{Choice: review.Choice{All: true}})
	d.must(err)
	return ws
}

// predate makes saved states and the objects of a repository look as old as that.
func (d *desk) predate(gitDir string, age time.Duration) {
	d.t.Helper()
	then := now().Add(-age)
	saved, err := review.SavedIn(d.t.Context(), gitDir)
	d.must(err)
	for _, s := range saved {
		old := d.gitIn(gitDir, "-c", "user.name=aibox", "-c", "user.email=aibox@localhost", "log", "-1", "--format=%s", s.Commit)
		cmd := exec.CommandContext(d.t.Context(), "git", "--git-dir", gitDir, "commit-tree", "-p", s.Base, "-m", old, s.Commit+"^{tree}")
		date := fmt.Sprintf("%d +0000", then.Unix())
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b",
			"GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date)
		commit, err := cmd.Output()
		d.must(err)
		d.gitIn(gitDir, "update-ref", s.Ref, strings.TrimSpace(string(commit)))
	}
	d.must(filepath.WalkDir(filepath.Join(gitDir, "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		return os.Chtimes(path, then, then)
	}))
}

func TestAReviewedSessionGoesWithAllThatBelongsToIt(t *testing.T) {
	d := newDesk(t)
	ws := d.accepted("00001-a", "one.txt")
	d.write(filepath.Join(d.store.dir("00001-a"), homeDir, ".codex/talk"), "what was said")
	d.must(os.Chmod(filepath.Join(d.store.dir("00001-a"), homeDir, ".codex"), 0)) // as an agent may leave it
	d.accepted("00002-b", "two.txt")
	d.ended("00003-c", "three.txt")
	d.aged("00001-a", month+time.Hour)
	d.aged("00002-b", month-time.Hour)
	d.aged("00003-c", 9*month)
	r := d.collect()
	want := "conversations 1: 00001-a\nsessions 1: 00001-a\nworkspaces 1: project\n"
	if got := freed(r) + "\n"; !strings.Contains(got, "workspaces 1: project\n") || !strings.Contains(got, "sessions 1: 00001-a\n") || strings.Contains(got, "0000"+"2") || strings.Contains(got, "00003") {
		t.Errorf("freed is\n%s\nnot\n%s", got, want)
	}
	if len(r.Kept) != 1 || r.Kept[0].What != "session 00003-c" {
		t.Errorf("kept is %+v", r.Kept)
	}
	for _, path := range []string{ws.Path, ws.Baseline, d.store.dir("00001-a")} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is still there", path)
		}
	}
	if got := d.saved("00001-a"); got != "2 collected 00001-a, 1 accepted 00001-a" {
		t.Errorf("saved is %q", got)
	}
	if got := d.files("00003-c") + " " + d.files("00002-b"); got != "three.txt two.txt" {
		t.Errorf("the others change %q", got)
	}
}

func TestWhenTheLastSessionHasGoneSoHasItsRepository(t *testing.T) {
	d := newDesk(t)
	ws := d.accepted("00001-a", "one.txt")
	d.aged("00001-a", 2*month)
	d.collect()
	if got := d.saved(""); got == "" {
		t.Fatal("the work was not saved")
	}
	if r := d.collect(); len(r.Freed) > 0 {
		t.Errorf("the saved states are young, and yet freed is\n%s", freed(r))
	}
	d.predate(ws.GitDir, month+time.Hour)
	if got := freed(d.collect()); got != "saved states 2: 2 1\nrepositories 1: "+filepath.Base(ws.GitDir) && got != "saved states 2: 1 2\nrepositories 1: "+filepath.Base(ws.GitDir) {
		t.Errorf("freed is\n%s", got)
	}
	d.ended("00002-b", "two.txt") // it is made anew
}

func TestObjectsThatNothingNamesGoAndTheOthersStay(t *testing.T) {
	d := newDesk(t)
	ws := d.ended("00001-a", "one.txt")
	if _, err := d.Discard(t.Context(), "00001-a"); err != nil {
		t.Fatal(err)
	}
	d.ended("00002-b", "two.txt")
	d.predate(ws.GitDir, 2*month)
	d.aged("00001-a", 2*month)
	blob := d.gitIn(ws.GitDir, "rev-parse", "refs/aibox/00001-a/work:one.txt")
	other := d.gitIn(ws.GitDir, "rev-parse", "refs/aibox/00002-b/work:two.txt")
	dry, real := d.collect(dryRun), d.collect()
	if freed(dry) != freed(real) || !strings.Contains(freed(real), "objects ") {
		t.Errorf("the dry run says\n%s\nthe real one\n%s", freed(dry), freed(real))
	}
	d.gitIn(ws.GitDir, "fsck", "--strict")
	d.gitIn(ws.GitDir, "cat-file", "-e", other)
	if exec.CommandContext(t.Context(), "git", "--git-dir", ws.GitDir, "cat-file", "-e", blob).Run() == nil {
		t.Error("what nothing names is still there")
	}
	if got := d.files("00002-b"); got != "two.txt" {
		t.Errorf("the other session changes %q", got)
	}
}

func TestWhatNobodyHasReviewedNeverGoes(t *testing.T) {
	for name, change := range map[string]func(*desk, *Session){
		"unreviewed":      func(*desk, *Session) {},
		"partly reviewed": func(_ *desk, s *Session) { s.State.Review = PartlyAccepted },
		"not computed": func(_ *desk, s *Session) {
			s.State.Result.Changed, s.State.Result.Changes = false, Changes{Notes: []string{"not computed"}}
		},
		"without a result": func(_ *desk, s *Session) { s.State.Result = nil },
		"its workspace deleted by hand": func(d *desk, s *Session) {
			d.must(os.RemoveAll(s.State.Workspace.Path))
		},
		"not computed, and its workspace deleted": func(d *desk, s *Session) {
			s.State.Result.Changed, s.State.Result.Changes = false, Changes{}
			d.must(os.RemoveAll(s.State.Workspace.Path))
		},
		"accepted and changed since": func(d *desk, s *Session) {
			s.State.Review = Accepted
			d.write(filepath.Join(s.State.Workspace.Path, "later.txt"), "later\n")
		},
		"nothing changed, but since": func(_ *desk, s *Session) { s.State.Result.Changed = false },
		"accepted, and its baseline is damaged": func(d *desk, s *Session) {
			s.State.Review = Accepted
			d.must(os.WriteFile(s.State.Workspace.Baseline, []byte("x"), 0o600))
		},
		"accepted, and the decisions are damaged": func(d *desk, s *Session) {
			s.State.Review = Accepted
			d.must(os.WriteFile(filepath.Join(d.store.dir(s.ID), decisionsFile), []byte("x"), 0o600))
		},
		"of an unknown review": func(_ *desk, s *Session) { s.State.Review = "whatever" },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			ws := d.ended("00001-a", "one.txt")
			session, err := d.store.load("00001-a")
			d.must(err)
			change(d, &session)
			d.must(d.store.write("00001-a", stateFile, session.State))
			d.aged("00001-a", 9*month)
			d.predate(ws.GitDir, 9*month)
			gone, _ := ws.Gone()
			for range 2 {
				r := d.collect(func(o *GCOptions) { o.OlderThan = 0 })
				if len(r.Kept) != 1 || r.Kept[0].What != "session 00001-a" || slices.ContainsFunc(r.Freed, func(f Freed) bool { return f.Kind != GCObjects }) {
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

func TestWhatRunsOrCannotBeReadStaysWithAllItMayNeed(t *testing.T) {
	t.Run("running", func(t *testing.T) {
		d := newDesk(t)
		d.prepared("00001-a")
		held, err := lock(d.store.dir("00001-a"))
		d.must(err)
		defer held.Close()
		d.aged("00001-a", 9*month)
		if r := d.collect(func(o *GCOptions) { o.OlderThan = 0 }); len(r.Freed) > 0 {
			t.Errorf("freed is\n%s", freed(r))
		}
	})
	t.Run("used by another command", func(t *testing.T) {
		d := newDesk(t)
		d.accepted("00001-a", "one.txt")
		d.aged("00001-a", 9*month)
		held, err := lock(d.store.dir("00001-a"))
		d.must(err)
		defer held.Close()
		if r := d.collect(); len(r.Freed) > 0 {
			t.Errorf("freed is\n%s", freed(r))
		}
	})
	t.Run("damaged", func(t *testing.T) {
		d := newDesk(t)
		ws := d.accepted("00001-a", "one.txt")
		d.aged("00001-a", 9*month)
		d.must(os.WriteFile(filepath.Join(d.store.dir("00001-a"), stateFile), []byte("{"), 0o600))
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
	t.Run("a repository in use", func(t *testing.T) {
		d := newDesk(t)
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

func TestAChainOfSessionsGoesWithItsLast(t *testing.T) {
	d := newDesk(t)
	d.ended("00001-a", "one.txt")
	ws := d.resumed("00001-a", "00002-b", "two.txt")
	d.aged("00001-a", 9*month)
	d.aged("00002-b", 9*month)
	if r := d.collect(); strings.Contains(freed(r), "sessions") {
		t.Fatalf("freed is\n%s", freed(r))
	}
	if _, err := d.Accept(t.Context(), "00002-b", review.AcceptOptions{Choice: review.Choice{All: true}}); err != nil {
		t.Fatal(err)
	}
	d.aged("00002-b", 9*month)
	dry, real := d.collect(dryRun), d.collect()
	if freed(dry) != freed(real) || !strings.Contains(freed(real), "sessions 2: 00002-b 00001-a") {
		t.Errorf("the dry run says\n%s\nthe real one\n%s", freed(dry), freed(real))
	}
	if gone, _ := ws.Gone(); !gone {
		t.Error("the workspace is still there")
	}
	if got := d.saved("00002-b"); !strings.HasPrefix(got, "3 collected 00002-b") {
		t.Errorf("saved is %q", got)
	}
}

func TestADryRunSaysTheSameAndDoesNothing(t *testing.T) {
	d := newDesk(t)
	d.accepted("00001-a", "one.txt")
	gone := d.accepted("00002-b", "two.txt")
	d.must(d.Remove(t.Context(), "00002-b", false))
	d.ended("00003-c")
	for _, id := range []ID{"00001-a", "00003-c"} {
		d.aged(id, 2*month)
	}
	d.predate(gone.GitDir, 2*month)
	d.must(os.Mkdir(filepath.Join(d.dirs.Workspace, "empty"), 0o700))
	free, err := d.pool.Acquire(t.Context(), "x")
	d.must(err)
	d.must(d.pool.Release(t.Context(), free))
	before := d.everything()
	dry := d.collect(dryRun)
	if after := d.everything(); !slices.Equal(after, before) {
		t.Errorf("there were %d things before the dry run, and after it %d: %q", len(before), len(after), slices.DeleteFunc(after, func(path string) bool { return slices.Contains(before, path) }))
	}
	real := d.collect()
	if freed(dry) != freed(real) || len(dry.Freed) != 6 {
		t.Errorf("the dry run says\n%s\nthe real one\n%s", freed(dry), freed(real))
	}
	for i, f := range real.Freed {
		if f.Kind != GCObjects && (f.Files != dry.Freed[i].Files || f.Bytes != dry.Freed[i].Bytes) {
			t.Errorf("the dry run says %+v, the real one %+v", dry.Freed[i], f)
		}
	}
	if r := d.collect(); len(r.Freed) > 0 {
		t.Errorf("the next one frees\n%s", freed(r))
	}
}

// everything lists what there is of aibox's, but for locks and git's objects.
func (d *desk) everything() []string {
	var all []string
	for _, root := range []string{d.dirs.State, d.dirs.Data, d.dirs.Workspace} {
		_ = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && !strings.HasSuffix(path, "lock") && !strings.Contains(path, ".git/objects") {
				all = append(all, path)
			}
			return nil
		})
	}
	return all
}

func TestWhatWasBrokenOffGoesAndWhatMayBeWorkStays(t *testing.T) {
	d := newDesk(t)
	ws := d.ended("00001-a", "one.txt")
	for _, folder := range []string{
		d.dirs.Workspace + "/.aibox-removed-x/y", d.dirs.Workspace + "/.aibox-restoring-x/y", d.dirs.Workspace + "/empty",
		d.dirs.Sessions() + "/.aibox-removed-z/home", d.dirs.Repos() + "/.clone-1/objects",
	} {
		d.must(os.MkdirAll(folder, 0o700))
	}
	d.write(filepath.Join(ws.GitDir, "aibox/.snapshot-1"), "x")
	d.write(filepath.Join(d.dirs.Workspace, "mine/notes"), "mine")
	if r := d.collect(func(o *GCOptions) { o.settle = 0 }); len(r.Freed) > 0 {
		t.Errorf("scratch may be somebody's, and yet freed is\n%s", freed(r))
	}
	r := d.collect()
	if want := "scratch 6: .aibox-removed-x .aibox-restoring-x empty .clone-1 .snapshot-1 .aibox-removed-z"; freed(r) != want {
		t.Errorf("freed is\n%s\nnot\n%s", freed(r), want)
	}
	if len(r.Kept) != 1 || filepath.Base(r.Kept[0].What) != "mine" {
		t.Errorf("kept is %+v", r.Kept)
	}
	if got, _ := os.ReadFile(filepath.Join(d.dirs.Workspace, "mine/notes")); string(got) != "mine" {
		t.Error("a folder that no session refers to has lost its content")
	}
}

func TestWithoutDockerTheRestIsTidied(t *testing.T) {
	d := newDesk(t)
	d.noDocker = errors.New("no daemon")
	d.accepted("00001-a", "one.txt")
	d.aged("00001-a", 2*month)
	r := d.collect()
	if !strings.Contains(freed(r), "sessions 1") || len(r.Kept) != 1 || r.Kept[0].What != "networks" {
		t.Errorf("freed is\n%s\nkept %+v", freed(r), r.Kept)
	}
}

// What a session looks like may change until it is locked.
func TestASessionThatIsTakenBackAtTheLastMomentStays(t *testing.T) {
	d := newDesk(t)
	d.accepted("00001-a", "one.txt")
	d.aged("00001-a", 9*month)
	session, err := d.store.load("00001-a")
	d.must(err)
	session.State.Review = Unreviewed
	r := d.collect(func(o *GCOptions) {
		o.step = func(what string) {
			if what == "lock 00001-a" {
				d.must(d.store.write("00001-a", stateFile, session.State))
			}
		}
	})
	if len(r.Freed) > 0 {
		t.Errorf("freed is\n%s", freed(r))
	}
}

func TestWhoWaitsForASessionThatIsRemovedIsToldSo(t *testing.T) {
	d := newDesk(t)
	d.ended("00001-a", "one.txt")
	held, err := lock(d.store.dir("00001-a"))
	d.must(err)
	said := make(chan error)
	go func() {
		_, err := d.Discard(context.Background(), "00001-a")
		said <- err
	}()
	d.must(d.store.remove(t.Context(), "00001-a"))
	d.must(held.Close())
	if err := <-said; err == nil || !strings.Contains(err.Error(), "was removed in the meantime") {
		t.Errorf("it says %v", err)
	}
}

func TestTwoCleanUpsDoNotGoOnAtOnce(t *testing.T) {
	d := newDesk(t)
	first := &gc{Sessions: d.Sessions}
	turn, err := first.turn()
	d.must(err)
	if _, err := d.GC(t.Context(), GCOptions{}); err == nil || !strings.Contains(err.Error(), "at work") {
		t.Errorf("the second says %v", err)
	}
	d.must(turn.Close())
	d.collect()
}

// A clean-up that is killed at any of its steps, with SIGKILL, loses nothing, and the
// next one does the rest.
func TestACleanUpThatIsKilledIsFinishedByTheNext(t *testing.T) {
	if home := os.Getenv("AIBOX_TEST_KILL_HOME"); home != "" {
		killAt(t, home)
		return
	}
	steps := 0
	for n := 1; ; n++ {
		d := newDesk(t)
		one := d.accepted("00001-a", "one.txt", "deep/er/file")
		d.resumed("00001-a", "00002-b", "two.txt")
		if _, err := d.Accept(t.Context(), "00002-b", review.AcceptOptions{Choice: review.Choice{All: true}}); err != nil {
			t.Fatal(err)
		}
		d.ended("00003-c", "three.txt")
		d.accepted("00004-d", "four.txt")
		d.must(d.Remove(t.Context(), "00004-d", false))
		d.predate(one.GitDir, 2*month)
		for _, id := range []ID{"00001-a", "00002-b", "00003-c"} {
			d.aged(id, 2*month)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestACleanUpThatIsKilledIsFinishedByTheNext$")
		cmd.Env = append(os.Environ(), "AIBOX_TEST_KILL_HOME="+d.dirs.Home, "AIBOX_TEST_KILL_AT="+strconv.Itoa(n))
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
		if !killed && err != nil {
			t.Fatalf("step %d: %v\n%s", n, err, out)
		}
		if _, err := d.Repair(t.Context()); err != nil {
			t.Errorf("killed at step %d: %v", n, err)
		}
		if got := d.files("00003-c"); got != "three.txt" {
			t.Errorf("killed at step %d: the unreviewed work changes %q", n, got)
		}
		if _, damaged := d.List(); damaged != nil {
			t.Errorf("killed at step %d: %v", n, damaged)
		}
		d.collect()
		if ids, _ := d.store.ids(); !slices.Equal(ids, []ID{"00003-c"}) {
			t.Errorf("killed at step %d: after the next these are left: %v", n, ids)
		}
		if gone, _ := one.Gone(); !gone {
			t.Errorf("killed at step %d: after the next the workspace is left", n)
		}
		if got := d.saved("00001-a"); !strings.Contains(got, "collected 00002-b") {
			t.Errorf("killed at step %d: saved is %q", n, got)
		}
		d.gitIn(one.GitDir, "fsck", "--strict")
		if r := d.collect(); len(r.Freed) > 0 {
			t.Errorf("killed at step %d: the third frees\n%s", n, freed(r))
		}
		if !killed {
			break
		}
		steps = n
	}
	if steps < 6 {
		t.Errorf("there were only %d steps to be killed at", steps)
	}
}

// killAt runs a clean-up that kills itself before its nth step.
func killAt(t *testing.T, home string) {
	n, err := strconv.Atoi(os.Getenv("AIBOX_TEST_KILL_AT"))
	if err != nil {
		t.Fatal(err)
	}
	d := deskAt(t, home)
	d.collect(func(o *GCOptions) {
		o.step = func(string) {
			if n--; n == 0 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				select {}
			}
		}
	})
}

// Whatever sessions there are, of whatever age: what is not reviewed to its end is as
// it was, and all that is saved for long enough can still be looked at.
func TestNoMixOfSessionsLosesWork(t *testing.T) {
	for seed := range uint64(4) {
		random := rand.New(rand.NewPCG(seed, 7))
		d := newDesk(t)
		work := map[ID]string{}
		var gitDir string
		for n := range 8 {
			id := ID(fmt.Sprintf("%05d-x", n))
			ws := d.ended(id, []string{"one.txt", "two.txt", "deep/three.txt"}[:random.IntN(4)]...)
			gitDir = ws.GitDir
			switch random.IntN(5) {
			case 0:
				_, _ = d.Accept(t.Context(), id, review.AcceptOptions{Choice: review.Choice{All: true}})
			case 1:
				_, _ = d.Accept(t.Context(), id, review.AcceptOptions{Choice: review.Choice{Files: []string{"one.txt"}}})
			case 2:
				_, err := d.Discard(t.Context(), id)
				d.must(err)
			case 3:
				next := ID(fmt.Sprintf("%05d-y", n))
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
			decisions, err := d.store.decisions(s.ID)
			d.must(err)
			if s.State.ContinuedBy == "" && s.State.Review != Discarded && !decisions.Taken.Complete(set) {
				work[s.ID] = set.Tree
			}
		}
		if random.IntN(2) == 0 {
			d.predate(gitDir, time.Duration(random.IntN(60*24))*time.Hour)
		}
		promised, err := d.Recoverable(t.Context(), "")
		d.must(err)
		options := GCOptions{OlderThan: time.Duration(random.IntN(40*24)) * time.Hour, settle: -1}
		for range 2 {
			if _, err := d.GC(t.Context(), options); err != nil {
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
				t.Errorf("seed %d: the work of %s is not what it was: %v", seed, id, err)
			}
		}
		for _, state := range promised {
			if time.Now().Before(state.Until) {
				if _, err := state.Changes(context.Background()); err != nil {
					t.Errorf("seed %d: %s was promised: %v", seed, state.Ref, err)
				}
			}
		}
	}
}
