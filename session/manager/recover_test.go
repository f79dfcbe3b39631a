package manager

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/recovery"
	"aibox/session"
	"aibox/session/summary"
	"aibox/workspace"
)

func TestDestructiveStepsSaveWorkFirst(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	if _, err := d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{All: true}}); err != nil {
		t.Fatal(err)
	}
	first := d.resumed("00001-a", "00002-b", "two.txt")
	d.must(d.Remove(t.Context(), "00002-b", true))
	if _, err := os.Lstat(first.Path); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
	d.ended("00003-c", "three.txt")
	if _, err := d.Discard(t.Context(), "00003-c"); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"00001-a": "3 removed 00002-b, 2 continued 00001-a, 1 accepted 00001-a",
		"00002":   "3 removed 00002-b, 2 continued 00001-a, 1 accepted 00001-a", // its record was removed
		"00003-c": "1 discarded 00003-c",
	} {
		if got := d.saved(text); got != want {
			t.Errorf("saved of %s is %q, not %q", text, got, want)
		}
	}
}

func TestAResumedSessionListsSavedStatesOfItsChain(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	d.resumed("00001-a", "00002-b", "two.txt")
	d.resumed("00002-b", "00003-c", "three.txt")
	want := "2 continued 00002-b, 1 continued 00001-a"
	for _, id := range []string{"00001-a", "00002-b", "00003-c"} {
		if got := d.saved(id); got != want {
			t.Errorf("saved of %s is %q, not %q", id, got, want)
		}
	}
}

// The content of a workspace is saved even if its work was reviewed: the user may have
// changed it since.
func TestRemovingAReviewedSessionSavesLaterWork(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	if _, err := d.Accept(t.Context(), "00001-a", accept.Options{Choice: review.Choice{All: true}}); err != nil {
		t.Fatal(err)
	}
	d.write(filepath.Join(ws.Path, "later.txt"), "later\n")
	d.must(d.Remove(t.Context(), "00001-a", false))
	all, err := d.Recoverable(t.Context(), "00001-a")
	d.must(err)
	if all[0].What != recovery.Removed || all[0].Files != 2 || all[0].Added != 2 {
		t.Errorf("the newest state is %+v", all[0])
	}
}

func TestPartlyReviewedWorkIsRemovedOnlyByForce(t *testing.T) {
	for name, change := range map[string]func(*fixture, *session.Session){
		"unreviewed":      func(*fixture, *session.Session) {},
		"partly reviewed": func(_ *fixture, s *session.Session) { s.State.Review = "partly-accepted" },
		"not computed": func(_ *fixture, s *session.Session) {
			s.State.Result.Changed, s.State.Result.Changes = false, session.Changes{}
		},
		"not computed, and its workspace deleted": func(d *fixture, s *session.Session) {
			s.State.Result.Changed, s.State.Result.Changes = false, session.Changes{}
			d.must(os.RemoveAll(s.State.Workspace.Path))
		},
		"without a result": func(_ *fixture, s *session.Session) { s.State.Result = nil },
		"changed later": func(d *fixture, s *session.Session) {
			d.write(filepath.Join(s.State.Workspace.Path, "one.txt"), "later\n")
			s.State.Result.Changed = false
		},
		"its workspace is gone": func(d *fixture, s *session.Session) { d.must(os.RemoveAll(s.State.Workspace.Path)) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t)
			d.ended("00001-a", "one.txt")
			record, err := d.store.Load("00001-a")
			d.must(err)
			change(d, &record)
			d.must(d.store.Write("00001-a", session.StateFile, record.State))
			err = d.Remove(t.Context(), "00001-a", false)
			if fault.KindOf(err) != fault.Conflict {
				t.Fatalf("removing says %v", err)
			}
			d.must(d.Remove(t.Context(), "00001-a", true))
			if got := d.saved("00001-a"); got != "1 removed 00001-a" {
				t.Errorf("saved is %q", got)
			}
		})
	}
}

func TestASessionWithoutFilesCanBeRemoved(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	d.must(os.RemoveAll(ws.Path))
	d.must(os.Remove(filepath.Join(d.store.Dir("00001-a"), "changes.json")))
	if err := d.Remove(t.Context(), "00001-a", false); fault.KindOf(err) != fault.Conflict {
		t.Errorf("unasked it says %v", err)
	}
	d.must(d.Remove(t.Context(), "00001-a", true))
}

func TestASessionWithoutAWorkspaceCanBeRemoved(t *testing.T) {
	d := newFixture(t)
	d.must(os.Mkdir(d.store.Dir("00001-a"), 0o700))
	d.must(d.store.Write("00001-a", session.SpecFile, session.Spec{ID: "00001-a", Run: config.Run{Network: netguard.None.String()}}))
	d.must(d.store.Write("00001-a", session.StateFile, session.State{Phase: session.Ended}))
	d.must(d.Remove(t.Context(), "00001-a", false))
}

func TestASessionCanBeResumedAfterItsWorkspaceIsRestored(t *testing.T) {
	d := newFixture(t)
	d.write(filepath.Join(d.repo, ".gitignore"), "*.log\n")
	d.write(filepath.Join(d.repo, ".env"), "SECRET=1\n")
	d.write(filepath.Join(d.repo, "run.sh"), "#!/bin/sh\n")
	d.must(os.Chmod(filepath.Join(d.repo, "run.sh"), 0o755))
	ws := d.prepared("00001-a")
	d.write(filepath.Join(ws.Path, "a.txt"), "one\nTWO\n")
	d.write(filepath.Join(ws.Path, "deep/er/new.txt"), "new\n")
	d.write(filepath.Join(ws.Path, "noise.log"), "ignored\n")
	d.must(os.Remove(filepath.Join(ws.Path, "dir/b.txt")))
	d.must(os.Symlink("a.txt", filepath.Join(ws.Path, "link")))
	d.end("00001-a", ws)
	before, err := d.Changes(t.Context(), "00001-a")
	d.must(err)
	saved, err := d.Discard(t.Context(), "00001-a")
	d.must(err)
	if saved.Files != 4 || saved.Added != 3 || saved.Deleted != 2 {
		t.Errorf("saved is %+v", saved)
	}
	// The name is in use again.
	d.write(filepath.Join(ws.Path, "precious"), "mine")

	again, err := d.RestoreWorkspace(t.Context(), "00001-a", *saved)
	d.must(err)
	if again.Path == ws.Path || filepath.Dir(again.Path) != d.dirs.Workspace {
		t.Errorf("the workspace is %s", again.Path)
	}
	after, err := d.Changes(t.Context(), "00001-a")
	d.must(err)
	if after.Tree != before.Tree || len(after.Changes) != 4 || len(after.Refused) > 0 {
		t.Errorf("the change set is %+v, not %+v", after, before)
	}
	record, err := d.store.Load("00001-a")
	d.must(err)
	if record.State.Review != session.Unreviewed {
		t.Errorf("it counts as %s", record.State.Review)
	}
	// Git works in the workspace, and shows the agent's work as uncommitted.
	d.gitIn(again.Path, "fsck", "--strict")
	if got := d.gitIn(again.Path, "status", "--porcelain", "--untracked-files=all"); !strings.Contains(got, " M a.txt") || !strings.Contains(got, " D dir/b.txt") || strings.Contains(got, ".env") {
		t.Errorf("git status says\n%s", got)
	}
	if _, err := os.Lstat(filepath.Join(again.Path, ".env")); !os.IsNotExist(err) {
		t.Error("a hidden file came along")
	}
	// The ignore rules are the user's, not the agent's: ignored files are still ignored.
	d.write(filepath.Join(again.Path, "more.log"), "ignored\n")
	d.resumed("00001-a", "00002-b", "next.txt")
	if got := d.files("00002-b"); got != "a.txt deep/er/new.txt dir/b.txt link next.txt" {
		t.Errorf("the next session changes %q", got)
	}
	if _, err := d.Accept(t.Context(), "00002-b", accept.Options{Choice: review.Choice{All: true}}); err != nil {
		t.Error(err)
	}
	if got, err := os.ReadFile(filepath.Join(ws.Path, "precious")); string(got) != "mine" {
		t.Errorf("the folder that had the name holds %q, %v", got, err)
	}
	if left, _ := filepath.Glob(d.dirs.Workspace + "/.*"); len(left) > 0 {
		t.Errorf("%q are left", left)
	}
}

// A killed git leaves its lock file, which git reads as a sign of another running process.
func TestWorkIsSavedDespiteALockFileOfADeadGit(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	set, err := d.Changes(t.Context(), "00001-a")
	d.must(err)
	lock := filepath.Join(ws.GitDir, review.RefPrefix("00001-a")+"1.lock")
	d.must(os.MkdirAll(filepath.Dir(lock), 0o700))
	d.must(os.WriteFile(lock, nil, 0o600))
	saved, err := recovery.Save(t.Context(), ws, set, recovery.Accepted)
	d.must(err)
	points, err := recovery.PointsIn(t.Context(), ws.GitDir)
	d.must(err)
	if len(points) != 1 || points[0].Number != 2 || saved.Number != 2 {
		t.Errorf("got %+v", points)
	}
}

func TestAnExistingWorkspaceIsNotOverwrittenByRestore(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	d.ended("00002-b", "two.txt")
	set, err := d.Changes(t.Context(), "00001-a")
	d.must(err)
	saved, err := recovery.Save(t.Context(), ws, set, recovery.Accepted)
	d.must(err)
	for _, id := range []session.ID{"00001-a", "00002-b"} { // one has its workspace, the other has different work
		if _, err := d.RestoreWorkspace(t.Context(), id, *saved); fault.KindOf(err) != fault.Usage {
			t.Errorf("bringing back the workspace of %s says %v", id, err)
		}
	}
	d.resumed("00001-a", "00003-c")
	if _, err := d.RestoreWorkspace(t.Context(), "00001-a", *saved); err == nil || !strings.Contains(err.Error(), "continued") {
		t.Errorf("bringing back what another session goes on with says %v", err)
	}
}

func TestAFailedRestoreChangesNothing(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	saved, err := d.Discard(t.Context(), "00001-a")
	d.must(err)
	reported := errors.New("reported")
	_, err = workspace.Rebuild(t.Context(), workspace.RebuildRequest{
		Of: ws, Tree: saved.Commit, Dirs: d.dirs, Made: func(*workspace.Workspace) error { return reported },
	})
	if !errors.Is(err, reported) {
		t.Fatal(err)
	}
	left, err := os.ReadDir(d.dirs.Workspace)
	d.must(err)
	if len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	if _, err := d.RestoreWorkspace(t.Context(), "00001-a", *saved); err != nil {
		t.Error(err)
	}
}

// git keeps objects that a ref names, and a saved state has only its ref.
func TestASavedStateIsKeptOnlyByItsRef(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	saved, err := d.Discard(t.Context(), "00001-a")
	d.must(err)
	d.must(d.Remove(t.Context(), "00001-a", false))
	for _, name := range []string{"base", "work"} {
		d.gitIn(ws.GitDir, "update-ref", "-d", "refs/aibox/00001-a/"+name)
	}
	d.gitIn(ws.GitDir, "gc", "--quiet", "--prune=now")
	d.gitIn(ws.GitDir, "fsck", "--strict")
	set, err := saved.Changes(t.Context())
	d.must(err)
	if len(set.Changes) != 1 || set.Changes[0].Path != "one.txt" {
		t.Errorf("the saved state changes %+v", set.Changes)
	}
	restored, err := d.Restore(t.Context(), *saved, "")
	d.must(err)
	if got := d.git("show", restored.Branch+":one.txt"); got != "one.txt" {
		t.Errorf("the branch holds %q", got)
	}
	d.gitIn(ws.GitDir, "update-ref", "-d", saved.Ref)
	d.gitIn(ws.GitDir, "gc", "--quiet", "--prune=now")
	if _, err := saved.Changes(t.Context()); err == nil {
		t.Error("without its ref the state is still there, so this test proves nothing")
	}
}

func TestDiscardedWorkIsRestoredUnchanged(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	if err := d.RestoreNewest(t.Context(), "00001-a"); fault.KindOf(err) != fault.Usage {
		t.Errorf("with nothing saved: %v", err)
	}
	if _, err := d.Discard(t.Context(), "00001-a"); err != nil {
		t.Fatal(err)
	}
	found, err := d.Find("00001-a")
	d.must(err)
	if brief := summary.Of(&found); !brief.Actions().Restore {
		t.Errorf("it is not offered: %+v", brief)
	}
	d.must(d.RestoreNewest(t.Context(), "00001-a"))
	found, err = d.Find("00001-a")
	d.must(err)
	if _, err := os.Lstat(filepath.Join(found.State.Workspace.Path, "one.txt")); err != nil {
		t.Error(err)
	}
	if brief := summary.Of(&found); brief.Actions().Restore || brief.Status() != summary.StatusToReview {
		t.Errorf("it is %q, %+v", brief.Status(), brief.Actions())
	}
}
