package manager

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"aibox/audit"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/review"
	"aibox/review/accept"
	"aibox/session"
	"aibox/session/agentstate"
	"aibox/workspace"
)

// forked is a session that has a copy of another session's workspace and wrote files.
func (d *fixture) forked(from, id session.ID, files ...string) *workspace.Workspace {
	d.t.Helper()
	d.must(os.Mkdir(d.store.Dir(id), 0o700))
	d.must(d.store.Write(id, session.SpecFile, session.Spec{ID: id, Created: session.Now(), Forks: from, Repository: d.repo, Run: config.Run{Network: netguard.None.String()}}))
	ws, err := d.Fork(d.t.Context(), from, id, workspace.Observer{Record: func(ws workspace.Workspace) error {
		return d.store.Write(id, session.StateFile, session.State{Phase: session.Preparing, Workspace: &ws})
	}})
	d.must(err)
	if d.duringFork != nil {
		d.duringFork(ws)
	}
	for _, name := range files {
		d.write(filepath.Join(ws.Path, name), name+"\n")
	}
	d.end(id, ws)
	return ws
}

func TestARunningForkDoesNotNeedTheOriginal(t *testing.T) {
	d := newFixture(t)
	d.write(filepath.Join(d.repo, "a.txt"), "uncommitted\n")
	d.ended("00001-a", "first.txt")
	d.duringFork = func(ws *workspace.Workspace) {
		d.must(d.Remove(t.Context(), "00001-a", true))
		for name := range strings.FieldsSeq(d.gitIn(ws.GitDir, "for-each-ref", "--format=%(refname)", "refs/aibox/00001-a/")) {
			d.gitIn(ws.GitDir, "update-ref", "-d", name) // like a later cleanup
		}
		d.gitIn(ws.GitDir, "gc", "-q", "--prune=now")
	}
	d.forked("00001-a", "00002-a", "second.txt")
	if got, want := d.files("00002-a"), "first.txt second.txt"; got != want {
		t.Errorf("the fork changes %s, not %s", got, want)
	}
}

func TestAForkHasTheWorkAndTheConversationAndLeavesTheOriginal(t *testing.T) {
	d := newFixture(t)
	of := d.prepared("00001-a")
	d.write(filepath.Join(of.Path, "first.txt"), "first\n")
	d.write(filepath.Join(of.Path, "node_modules/big"), strings.Repeat("x", 3<<20))
	d.must(os.Symlink("/etc/passwd", filepath.Join(of.Path, "out")))
	d.write(filepath.Join(of.Path, ".git/mine"), "the agent's\n")
	d.end("00001-a", of)
	talk, err := agentstate.MakeFolder(d.store.Dir("00001-a"), "shell", "~/.talk")
	d.must(err)
	d.write(filepath.Join(talk, "log"), "hello\n")

	ws := d.forked("00001-a", "00002-a", "second.txt")
	if ws.Path == of.Path || ws.Session != "00002-a" || ws.Owner() != "00002-a" {
		t.Errorf("the workspace is %+v", ws)
	}
	if got, want := d.files("00002-a"), "first.txt node_modules/big out second.txt"; got != want {
		t.Errorf("the fork changes %s, not %s", got, want)
	}
	if got, want := d.files("00001-a"), "first.txt node_modules/big out"; got != want {
		t.Errorf("the original changes %s, not %s", got, want)
	}
	for _, name := range []string{"a.txt", "first.txt", "node_modules/big", ".git/mine", "out"} {
		var a, b unix.Stat_t
		d.must(unix.Lstat(filepath.Join(of.Path, name), &a))
		d.must(unix.Lstat(filepath.Join(ws.Path, name), &b))
		if a.Ino == b.Ino || a.Size != b.Size || a.Mode&unix.S_IFMT != b.Mode&unix.S_IFMT {
			t.Errorf("%s: %+v and %+v", name, a, b)
		}
	}
	if !agentstate.FolderUsed(d.store.Dir("00002-a"), "shell", "~/.talk") || !agentstate.FolderUsed(d.store.Dir("00001-a"), "shell", "~/.talk") {
		t.Error("a conversation is missing")
	}
	forks := 0
	d.must(d.Events("00001-a", func(e audit.Event) error {
		if e.Type == audit.SessionForked {
			forks++
		}
		return nil
	}))
	if forks != 1 {
		t.Errorf("the log has %d forks", forks)
	}

	// Each session works without the other: the original is removed, and the fork is accepted.
	d.must(d.Remove(t.Context(), "00001-a", true))
	_, err = d.Accept(t.Context(), "00002-a", accept.Options{Choice: review.Choice{All: true}, Target: accept.ToBranch, Branch: "work/fork", Message: "Work"})
	d.must(err)
	if got := d.git("show", "work/fork:first.txt") + d.git("show", "work/fork:second.txt"); got != "firstsecond.txt" {
		t.Errorf("the branch has %q", got)
	}
}

func TestAnAcceptedForkLeavesTheBranchOfTheOriginal(t *testing.T) {
	d := newFixture(t)
	ws := d.ended("00001-a", "first.txt")
	all := accept.Options{Choice: review.Choice{All: true}, Message: "Work"}
	first, err := d.Accept(t.Context(), "00001-a", all)
	d.must(err)
	d.forked("00001-a", "00002-a", "second.txt")
	d.forked("00001-a", "00003-a", "third.txt")
	for id, want := range map[session.ID]string{"00002-a": "first.txt second.txt", "00003-a": "first.txt third.txt"} {
		forked, err := d.Accept(t.Context(), id, all)
		d.must(err)
		got := strings.Join(strings.Fields(d.git("diff", "--name-only", "main", "aibox/"+string(id))), " ")
		if forked.Branch != "aibox/"+string(id) || got != want {
			t.Errorf("%s: the branch %s has %q", id, forked.Branch, got)
		}
	}
	d.write(filepath.Join(ws.Path, "more.txt"), "more\n")
	more, err := d.Accept(t.Context(), "00001-a", all)
	d.must(err)
	if more.Branch != first.Branch || d.git("rev-parse", "aibox/00001-a^") != first.Commit {
		t.Errorf("the original goes to %s, and its branch was moved to %s", more.Branch, d.git("log", "--format=%s %h", "aibox/00001-a"))
	}
}

// The branch of the original session has that work, but none of the fork does.
func TestAcceptedWorkThatAForkInheritsGoesToTheForksBranch(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "first.txt")
	first := accept.Options{Choice: review.Choice{Files: []string{"first.txt"}}, Message: "Work"}
	_, err := d.Accept(t.Context(), "00001-a", first)
	d.must(err)
	d.forked("00001-a", "00002-a", "second.txt")
	set, err := d.FinalChanges("00002-a")
	d.must(err)
	d.must(d.CheckBranch(t.Context(), "00002-a", set, first))
	forked, err := d.Accept(t.Context(), "00002-a", first)
	d.must(err)
	if got := d.git("diff", "--name-only", "main", "aibox/00002-a"); got != "first.txt" || forked.Branch != "aibox/00002-a" || forked.Files != 1 {
		t.Errorf("%d files are on the branch %s, which has %q", forked.Files, forked.Branch, got)
	}
	if _, err := d.Accept(t.Context(), "00002-a", first); err == nil || !strings.Contains(err.Error(), "already accepted, on branch aibox/00002-a") {
		t.Errorf("the second accept gives %v", err)
	}
	second, err := d.Accept(t.Context(), "00002-a", accept.Options{Choice: review.Choice{All: true}, Message: "Work"})
	d.must(err)
	if second.Branch != forked.Branch || d.git("rev-parse", "aibox/00002-a^") != forked.Commit {
		t.Errorf("the rest goes to %s", second.Branch)
	}
}

// Neither a branch nor a bundle of the fork has that work.
func TestAcceptedWorkThatAForkInheritsIsDeliveredToABundleOnce(t *testing.T) {
	for _, target := range []accept.Target{accept.ToBranch, accept.ToBundle} {
		d := newFixture(t)
		d.ended("00001-a", "first.txt")
		first := accept.Options{Choice: review.Choice{Files: []string{"first.txt"}}, Message: "Work", Target: target}
		_, err := d.Accept(t.Context(), "00001-a", first)
		d.must(err)
		fork := d.forked("00001-a", "00002-a", "second.txt")
		first.Target = accept.ToBundle
		bundle, err := d.Accept(t.Context(), "00002-a", first)
		d.must(err)
		if got := d.gitIn(fork.GitDir, "diff", "--name-only", bundle.Commit+"^", bundle.Commit); got != "first.txt" || bundle.Files != 1 {
			t.Errorf("%v: the bundle has %d files: %q", target, bundle.Files, got)
		}
		if _, err := d.Accept(t.Context(), "00002-a", first); err == nil || !strings.Contains(err.Error(), "already accepted") {
			t.Errorf("%v: the second bundle gives %v", target, err)
		}
		first.Target = accept.ToBranch
		branch, err := d.Accept(t.Context(), "00002-a", first)
		d.must(err)
		if got := d.git("diff", "--name-only", "main", branch.Branch); got != "first.txt" || branch.Branch != "aibox/00002-a" {
			t.Errorf("%v: the branch %s has %q", target, branch.Branch, got)
		}
	}
}

func TestASessionIsForkedAgainAndAFailedForkLeavesNothing(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "first.txt")
	d.forked("00001-a", "00002-a", "second.txt")
	d.forked("00002-a", "00003-a", "third.txt")
	d.forked("00001-a", "00004-a")
	for id, want := range map[session.ID]string{"00003-a": "first.txt second.txt third.txt", "00004-a": "first.txt", "00001-a": "first.txt"} {
		if got := d.files(id); got != want {
			t.Errorf("%s changes %q, not %q", id, got, want)
		}
	}
	before, err := os.ReadDir(d.dirs.Workspace)
	d.must(err)
	d.must(os.Mkdir(d.store.Dir("00005-a"), 0o700))
	broken := fault.New(fault.Environment, "no room")
	if _, err := d.Fork(t.Context(), "00001-a", "00005-a", workspace.Observer{Record: func(workspace.Workspace) error { return broken }}); fault.KindOf(err) != fault.Environment {
		t.Errorf("a failed fork: %v", err)
	}
	after, err := os.ReadDir(d.dirs.Workspace)
	d.must(err)
	if len(after) != len(before) {
		t.Errorf("%d workspaces, not %d", len(after), len(before))
	}
}

func TestWorkThatIsNoLongerInItsSessionIsNotForked(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "first.txt")
	d.resumed("00001-a", "00002-a")
	d.ended("00003-a", "x.txt")
	_, err := d.Discard(t.Context(), "00003-a")
	d.must(err)
	for id, want := range map[session.ID]string{"00001-a": "was continued by 00002-a", "00003-a": "its workspace is gone"} {
		d.must(os.MkdirAll(d.store.Dir("00009-a"), 0o700))
		if _, err := d.Fork(t.Context(), id, "00009-a", workspace.Observer{}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// The workspace that the record of the failed start names would stay, and nobody would know whose
// it is.
func TestAForkThatCannotBeLoggedLeavesNothing(t *testing.T) {
	d := newFixture(t)
	d.ended("00001-a", "one.txt")
	d.must(d.append("00001-a", audit.SessionStarted, nil))
	d.write(d.store.AuditPath("00001-a"), "damaged\n{}\n")
	d.must(os.Mkdir(d.store.Dir("00002-a"), 0o700))
	var begun workspace.Workspace
	_, err := d.Fork(t.Context(), "00001-a", "00002-a", workspace.Observer{Record: func(ws workspace.Workspace) error { begun = ws; return nil }})
	if err == nil {
		t.Fatal("it is forked without a record")
	}
	for _, path := range []string{begun.Path, begun.Baseline} {
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", path, err)
		}
	}
	if refs := d.gitIn(begun.GitDir, "for-each-ref", "refs/aibox/00002-a/"); refs != "" {
		t.Errorf("refs are left:\n%s", refs)
	}
}
