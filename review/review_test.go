package review_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"aibox/review"
)

func TestAnUntouchedWorkspaceHasNoChanges(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n", "d/b.txt": "bee\n"}).prepare()
	cs := b.compute()
	b.want(cs)
	if cs.Tree != cs.BaseTree {
		t.Errorf("tree %s, base %s", cs.Tree, cs.BaseTree)
	}
	if _, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}}); !errors.Is(err, review.ErrNothing) {
		t.Errorf("accepting nothing gives %v", err)
	}
}

func TestEveryKindOfChangeIsFound(t *testing.T) {
	long := strings.Repeat("a line of text that stays\n", 30)
	b := newRepository(t, map[string]string{
		"mod.txt": "one\n", "gone.txt": "away\n", "old.txt": long, "mode.sh": "#!/bin/sh\n", "kind": "a file\n", "same.txt": "same\n",
		"dir/x": "x\n", "file-to-dir": "f\n",
	}).prepare()
	b.write("mod.txt", "two\n")
	must(t, os.Remove(b.path("gone.txt")))
	must(t, os.Rename(b.path("old.txt"), b.path("new.txt")))
	must(t, os.Chmod(b.path("mode.sh"), 0o755))
	must(t, os.Remove(b.path("kind")))
	must(t, os.Symlink("/etc/passwd", b.path("kind")))
	b.write("same.txt", "same\n")
	must(t, os.RemoveAll(b.path("dir")))
	b.write("dir", "now a file\n")
	must(t, os.Remove(b.path("file-to-dir")))
	b.write("file-to-dir/inner", "inner\n")
	b.write("added.bin", "\x00\x01\x02")
	cs := b.compute()
	b.want(cs, "A\tadded.bin", "A\tdir", "D\tdir/x", "D\tfile-to-dir", "A\tfile-to-dir/inner", "D\tgone.txt", "T\tkind",
		"M\tmod.txt", "M\tmode.sh", "R\told.txt\tnew.txt")
	if len(cs.Refused) != 0 {
		t.Errorf("refused: %v", cs.Refused)
	}
	for _, c := range cs.Changes {
		if c.Path == "added.bin" && !c.Binary {
			t.Error("added.bin does not count as binary")
		}
		if c.Path == "mode.sh" && c.Kind != review.ModeChanged {
			t.Errorf("mode.sh is %s", c.Kind)
		}
	}
	b.appliesTo(cs)
	var stat strings.Builder
	must(t, cs.Stat(&stat, 0))
	t.Log("\n" + stat.String())
	data, err := json.Marshal(cs)
	must(t, err)
	var again review.ChangeSet
	must(t, json.Unmarshal(data, &again))
	if diff := cmp.Diff(*cs, again, cmpopts.IgnoreUnexported(*cs)); diff != "" {
		t.Errorf("JSON loses (-was +is):\n%s", diff)
	}
}

func TestAcceptMakesABranchAndLeavesTheRestAlone(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n", "b.txt": "bee\n"})
	write(t, b.repo+"/a.txt", "the user's own edit\n")
	write(t, b.repo+"/untracked.txt", "mine\n")
	gitIn(t, b.repo, "rm", "-q", "--cached", "b.txt")
	before := gitIn(t, b.repo, "status", "--porcelain") + gitIn(t, b.repo, "rev-parse", "HEAD")
	index, err := os.ReadFile(b.repo + "/.git/index")
	must(t, err)
	b.prepare()
	b.write("agent.txt", "agent\n")
	b.write("untracked.txt", "mine and agent's\n")
	cs := b.compute()
	b.want(cs, "A\tagent.txt", "M\tuntracked.txt")
	accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}, Message: "Add the agent's file"})
	must(t, err)
	if accepted.Branch != "aibox/k3f9" {
		t.Errorf("branch %s", accepted.Branch)
	}
	if after := gitIn(t, b.repo, "status", "--porcelain") + gitIn(t, b.repo, "rev-parse", "HEAD"); after != before {
		t.Errorf("status changed from\n%s\nto\n%s", before, after)
	}
	indexAfter, err := os.ReadFile(b.repo + "/.git/index")
	must(t, err)
	if !bytes.Equal(index, indexAfter) {
		t.Error("the index was written")
	}
	if got := gitIn(t, b.repo, "log", "--format=%s|%an", "main..aibox/k3f9"); got != "Add the agent's file|Ann\nUncommitted work before aibox session k3f9|Ann" {
		t.Errorf("log:\n%s", got)
	}
	if got := gitIn(t, b.repo, "diff", "--name-status", "aibox/k3f9^", "aibox/k3f9"); got != "A\tagent.txt\nM\tuntracked.txt" {
		t.Errorf("the agent's commit changes:\n%s", got)
	}
	if got := gitIn(t, b.repo, "diff", "--name-status", "main", "aibox/k3f9^"); got != "M\ta.txt\nA\tuntracked.txt" {
		t.Errorf("the commit of uncommitted work changes:\n%s", got)
	}
	gitIn(t, b.repo, "fsck", "--strict")
	again, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}})
	must(t, err)
	if again.Branch != "aibox/k3f9-2" {
		t.Errorf("the second branch is %s", again.Branch)
	}
	if _, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}, Branch: "main"}); err == nil {
		t.Error("accept moved main")
	}
}

func TestADiscardedWorkspaceCanBeRestored(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n"}).prepare()
	b.write("a.txt", "agent\n")
	saved, err := review.PutAway(t.Context(), b.ws, review.Discarded, review.Options{})
	must(t, err)
	if _, err := os.Lstat(b.ws.Path); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
	all, err := review.Recoverable(t.Context(), dirsIn(b.home).Repos(), "")
	must(t, err)
	if len(all) != 1 || all[0].Ref != saved.Ref || all[0].What != review.Discarded {
		t.Fatalf("recoverable: %+v", all)
	}
	restored, err := review.Restore(t.Context(), all[0], "")
	must(t, err)
	if got := gitIn(t, b.repo, "show", restored.Branch+":a.txt"); got != "agent" {
		t.Errorf("restored %q", got)
	}
	if _, err := review.Compute(t.Context(), b.ws, review.Options{}); err == nil {
		t.Error("a discarded workspace can be reviewed")
	}
}

func TestSpecialFilesAreRefusedAndNeverOpened(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n", "b.txt": "two\n"}).prepare()
	must(t, unix.Mkfifo(b.path("fifo"), 0o644))
	must(t, os.Remove(b.path("a.txt")))
	must(t, unix.Mkfifo(b.path("a.txt"), 0o644))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	must(t, err)
	defer unix.Close(fd)
	top, err := os.Open(b.ws.Path)
	must(t, err)
	defer top.Close()
	must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/sock", top.Fd())})) // a socket's path is short
	sparse, err := os.Create(b.path("sparse"))
	must(t, err)
	must(t, sparse.Truncate(1<<40))
	must(t, sparse.Close())
	outside := filepath.Join(b.t.TempDir(), "outside")
	write(t, outside, "secret")
	must(t, os.Link(outside, b.path("linked")))
	b.write("inside1", "twin\n")
	must(t, os.Link(b.path("inside1"), b.path("inside2")))
	b.write("inside3", "in git\n")
	must(t, os.Link(b.path("inside3"), b.path(".git/hidden-twin")))
	cs := b.compute()
	b.want(cs, "A\tinside1", "A\tinside2", "A\tinside3")
	b.refused(cs, "fifo", "named pipe")
	b.refused(cs, "a.txt", "named pipe")
	b.refused(cs, "sock", "socket")
	b.refused(cs, "sparse", "larger than")
	b.refused(cs, "linked", "hard link")
}

func TestSymlinksAreTextAndNeverFollowed(t *testing.T) {
	b := newRepository(t, map[string]string{"dir/a.txt": "one\n"}).prepare()
	outside := t.TempDir()
	write(t, outside+"/a.txt", "secret\n")
	must(t, os.RemoveAll(b.path("dir")))
	must(t, os.Symlink(outside, b.path("dir")))
	must(t, os.Symlink("/etc", b.path("etc")))
	must(t, os.Symlink("loop", b.path("loop")))
	cs := b.compute()
	b.want(cs, "A\tdir", "D\tdir/a.txt", "A\tetc", "A\tloop")
	var patch bytes.Buffer
	must(t, cs.Patch(t.Context(), &patch))
	if strings.Contains(patch.String(), "secret") {
		t.Error("the patch holds a file from outside")
	}
	b.appliesTo(cs)
}

func TestAFolderInTheNameOfARenamedSymlinkStillMakesAPatch(t *testing.T) {
	r := newRepository(t, map[string]string{"a.txt": "one\n"})
	must(t, os.Symlink("nowhere", r.repo+"/link"))
	gitIn(t, r.repo, "add", "-A")
	gitIn(t, r.repo, "commit", "-q", "-m", "a symlink")
	b := r.prepare()
	must(t, os.Rename(b.path("link"), b.path("moved")))
	b.write("link/file", "new\n")
	b.appliesTo(b.compute())
}

func TestARewriteWithTheOldTimesIsSeen(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n"}).prepare()
	info, err := os.Stat(b.path("a.txt"))
	must(t, err)
	f, err := os.OpenFile(b.path("a.txt"), os.O_WRONLY, 0)
	must(t, err)
	_, err = f.WriteString("eno\n")
	must(t, err)
	must(t, f.Close())
	must(t, os.Chtimes(b.path("a.txt"), info.ModTime(), info.ModTime()))
	b.want(b.compute(), "M\ta.txt")
}
