package cleanup

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/internal/flock"
	"aibox/internal/paths"
	"aibox/runtime"
	"aibox/session"
	"aibox/session/agentstate"
)

func TestAReviewedSessionIsRemovedWithAllItsFiles(t *testing.T) {
	d := newFixture(t)
	ws := d.accepted("00001-a", "one.txt")
	d.write(filepath.Join(agentstate.Roots(d.store.Dir("00001-a"))[0], ".codex/talk"), "what was said")
	closed := filepath.Join(agentstate.Roots(d.store.Dir("00001-a"))[0], ".codex/closed") // an agent may leave such a folder
	d.must(os.MkdirAll(filepath.Join(closed, "inner"), 0o700))
	d.must(os.Chmod(closed, 0))
	d.accepted("00002-b", "two.txt")
	d.ended("00003-c", "three.txt")
	d.aged("00001-a", month+time.Hour)
	d.aged("00002-b", month-time.Hour)
	d.aged("00003-c", 9*month)
	r := d.collect()
	if got, want := freed(r), "workspaces 1: project\nconversations 1: 00001-a\nsessions 1: 00001-a"; got != want {
		t.Errorf("freed is\n%s\nnot\n%s", got, want)
	}
	if len(r.Kept) != 1 || r.Kept[0].What != "session 00003-c" {
		t.Errorf("kept is %+v", r.Kept)
	}
	for _, path := range []string{ws.Path, ws.Baseline, d.store.Dir("00001-a")} {
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

func TestTheRepositoryIsRemovedWithItsLastSession(t *testing.T) {
	d := newFixture(t)
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
	d.ended("00002-b", "two.txt") // it is created again
}

// A sandbox has no workspace, so its record refers to no repository.
func TestTheRecordsOfSandboxesKeepNoRepository(t *testing.T) {
	d := newFixture(t)
	ws := d.accepted("00001-a", "one.txt")
	d.aged("00001-a", 2*month)
	d.predate(ws.GitDir, 2*month)
	d.sandbox("00002-sandbox", session.Running, "")
	d.sandbox("00003-sandbox", session.Ended, "")
	r := d.collect()
	for _, kept := range r.Kept {
		if strings.HasSuffix(kept.What, filepath.Base(ws.GitDir)) {
			t.Errorf("%s is kept: %s", kept.What, kept.Why)
		}
	}
	d.predate(ws.GitDir, 2*month) // the states that the first cleanup saved
	d.collect()
	if _, err := os.Stat(ws.GitDir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the repository stays: %v", err)
	}
}

func TestOnlyUnreferencedObjectsAreRemoved(t *testing.T) {
	d := newFixture(t)
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

func TestTheBaselineOfADeletedWorkspaceIsRemovedWithItsSession(t *testing.T) {
	d := newFixture(t)
	ws := d.accepted("00001-a", "one.txt")
	d.write(filepath.Join(d.dirs.Workspace, "mine/notes"), "mine") // could be a workspace whose record is lost
	d.must(os.RemoveAll(ws.Path))
	d.aged("00001-a", 2*month)
	r := d.collect()
	if _, err := os.Lstat(ws.Baseline); !os.IsNotExist(err) {
		t.Errorf("it is left: %v", err)
	}
	if len(r.Kept) != 1 || filepath.Base(r.Kept[0].What) != "mine" {
		t.Errorf("kept is %+v", r.Kept)
	}
}

func TestAChainOfSessionsIsRemovedWithItsLast(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	ws := d.resumed("00001-a", "00002-b", "two.txt")
	d.aged("00001-a", 9*month)
	d.aged("00002-b", 9*month)
	if r := d.collect(); strings.Contains(freed(r), "sessions") {
		t.Fatalf("freed is\n%s", freed(r))
	}
	if _, err := d.Accept(t.Context(), "00002-b", everything); err != nil {
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

func TestADryRunReportsTheSameAndRemovesNothing(t *testing.T) {
	d := newFixture(t)
	d.accepted("00001-a", "one.txt")
	gone := d.accepted("00002-b", "two.txt")
	d.must(d.Remove(t.Context(), "00002-b", false))
	d.ended("00003-c")
	for _, id := range []session.ID{"00001-a", "00003-c"} {
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
	if !slices.Equal(dry.Kept, real.Kept) {
		t.Errorf("the dry run keeps %+v, the real one %+v", dry.Kept, real.Kept)
	}
	for i, f := range real.Freed {
		if f.Kind != KindObjects && (f.Files != dry.Freed[i].Files || f.Bytes != dry.Freed[i].Bytes) {
			t.Errorf("the dry run says %+v, the real one %+v", dry.Freed[i], f)
		}
	}
	if r := d.collect(); len(r.Freed) > 0 {
		t.Errorf("the next one frees\n%s", freed(r))
	}
}

func TestInterruptedStartsAreRemovedButPossibleWorkIsKept(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "one.txt")
	for _, folder := range []string{
		d.dirs.Workspace + "/.aibox-removed-x/y", d.dirs.Workspace + "/.aibox-restoring-x/y", d.dirs.Workspace + "/empty",
		d.dirs.Sessions() + "/.aibox-removed-z/home", d.dirs.Repos() + "/.clone-1/objects",
	} {
		d.must(os.MkdirAll(folder, 0o700))
	}
	d.write(filepath.Join(ws.GitDir, "aibox/.snapshot-1"), "x")
	d.write(filepath.Join(d.dirs.Workspace, "mine/notes"), "mine")
	if r := d.collect(func(o *Options) { o.minScratchAge = 0 }); len(r.Freed) > 0 {
		t.Errorf("scratch that may be in use was freed:\n%s", freed(r))
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

// A busy daemon can create the sandbox of a dead supervisor long after a repair has removed
// that session.
func TestOnlyAbandonedSandboxesAreRemoved(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	supervisor, err := flock.Try(filepath.Join(d.store.Dir("00001-a"), "lock"), flock.Exclusive) // this one removes its sandbox itself
	d.must(err)
	defer supervisor.Close()
	elsewhere := session.NewStore(paths.Dirs{State: "/elsewhere"})
	for _, name := range []string{d.store.SandboxName("00001-a"), d.store.SandboxName("00009-late"), elsewhere.SandboxName("00009-late")} {
		_, err := d.daemon.Create(t.Context(), runtime.Spec{
			Session: name, Image: d.daemon.Images["fake:latest"], Init: "/init", Network: runtime.Network{ID: "n"},
		})
		d.must(err)
	}
	want := "sandboxes 1: " + d.store.SandboxName("00009-late")
	if dry := d.collect(dryRun); freed(dry) != want {
		t.Errorf("the dry run frees %q, not %q", freed(dry), want)
	}
	if r := d.collect(); freed(r) != want {
		t.Errorf("freed is %q, not %q", freed(r), want)
	}
	containers, err := d.daemon.Sandboxes(t.Context())
	d.must(err)
	var left []string
	for _, container := range containers {
		left = append(left, container.Session())
	}
	if want := []string{d.store.SandboxName("00001-a"), elsewhere.SandboxName("00009-late")}; !slices.Equal(left, want) {
		t.Errorf("left are %q, not %q", left, want)
	}
	d.must(supervisor.Close())
	if r, want := d.collect(), "sandboxes 1: "+d.store.SandboxName("00001-a"); freed(r) != want {
		t.Errorf("without its supervisor, freed is %q, not %q", freed(r), want)
	}
}

func TestCleanupRunsWithoutDocker(t *testing.T) {
	d := newFixture(t)
	d.noDocker = errors.New("no daemon")
	d.accepted("00001-a", "one.txt")
	d.aged("00001-a", 2*month)
	r := d.collect()
	if !strings.Contains(freed(r), "sessions 1") || len(r.Kept) != 1 || r.Kept[0].What != "sandboxes and networks" {
		t.Errorf("freed is\n%s\nkept %+v", freed(r), r.Kept)
	}
}

func TestCleanupsDoNotRunConcurrently(t *testing.T) {
	d := newFixture(t)
	first := newCleaner(d.dirs, d.docker, Options{})
	held, err := first.lock()
	d.must(err)
	if _, err := newCleaner(d.dirs, d.docker, Options{}).run(t.Context()); err == nil || !strings.Contains(err.Error(), "is running") {
		t.Errorf("the second says %v", err)
	}
	d.must(held.Close())
	d.collect()
}

func TestAuditLogsOfRemovedSessionsAreRemovedLater(t *testing.T) {
	d := newFixture(t)
	for _, id := range []session.ID{"00001-a", "00002-b"} {
		d.accepted(id, string(id)+".txt")
		d.aged(id, 2*month)
	}
	keep := func(o *Options) { o.AuditKeep = 3 * month }
	d.collect(keep)
	logs, err := d.AuditLogs()
	d.must(err)
	if len(logs) != 2 || !logs[0].Removed || !logs[1].Removed {
		t.Fatalf("%+v", logs)
	}
	then := time.Now().Add(-4 * month)
	d.must(os.Chtimes(logs[0].Path, then, then))
	if r := d.collect(keep, dryRun); freed(r) != "audit logs 1: 00001-a" {
		t.Errorf("a dry run frees\n%s", freed(r))
	}
	if r := d.collect(); freed(r) != "" {
		t.Errorf("without a limit it frees\n%s", freed(r))
	}
	if r := d.collect(keep); freed(r) != "audit logs 1: 00001-a" {
		t.Errorf("it frees\n%s", freed(r))
	}
	if logs, err := d.AuditLogs(); err != nil || len(logs) != 1 || logs[0].Session != "00002-b" {
		t.Errorf("left are %+v, %v", logs, err)
	}
}
