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
	"aibox/review/accept"
	"aibox/review/printer"
	"aibox/review/recovery"
	"aibox/review/reviewtest"
	"aibox/review/scan"
)

func TestAnUntouchedWorkspaceHasNoChanges(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n", "d/b.txt": "bee\n"}).Prepare()
	cs := b.Compute()
	b.Want(cs)
	if cs.Tree != cs.BaseTree {
		t.Errorf("tree %s, base %s", cs.Tree, cs.BaseTree)
	}
	if _, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}}); !errors.Is(err, review.ErrNothing) {
		t.Errorf("accepting nothing gives %v", err)
	}
}

func TestEveryKindOfChangeIsFound(t *testing.T) {
	long := strings.Repeat("a line of text that stays\n", 30)
	b := reviewtest.NewRepository(t, map[string]string{
		"mod.txt": "one\n", "gone.txt": "away\n", "old.txt": long, "mode.sh": "#!/bin/sh\n", "kind": "a file\n", "same.txt": "same\n",
		"dir/x": "x\n", "file-to-dir": "f\n",
	}).Prepare()
	b.Write("mod.txt", "two\n")
	reviewtest.Must(t, os.Remove(b.Path("gone.txt")))
	reviewtest.Must(t, os.Rename(b.Path("old.txt"), b.Path("new.txt")))
	reviewtest.Must(t, os.Chmod(b.Path("mode.sh"), 0o755))
	reviewtest.Must(t, os.Remove(b.Path("kind")))
	reviewtest.Must(t, os.Symlink("/etc/passwd", b.Path("kind")))
	b.Write("same.txt", "same\n")
	reviewtest.Must(t, os.RemoveAll(b.Path("dir")))
	b.Write("dir", "now a file\n")
	reviewtest.Must(t, os.Remove(b.Path("file-to-dir")))
	b.Write("file-to-dir/inner", "inner\n")
	b.Write("added.bin", "\x00\x01\x02")
	cs := b.Compute()
	b.Want(cs, "A\tadded.bin", "A\tdir", "D\tdir/x", "D\tfile-to-dir", "A\tfile-to-dir/inner", "D\tgone.txt", "T\tkind",
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
	b.AppliesTo(cs)
	var stat strings.Builder
	reviewtest.Must(t, printer.Stat(cs, &stat, 0))
	t.Log("\n" + stat.String())
	cs.Callers = nil // found again from the baseline
	data, err := json.Marshal(cs)
	reviewtest.Must(t, err)
	var again review.ChangeSet
	reviewtest.Must(t, json.Unmarshal(data, &again))
	if diff := cmp.Diff(*cs, again, cmpopts.IgnoreUnexported(*cs)); diff != "" {
		t.Errorf("JSON loses (-was +is):\n%s", diff)
	}
}

func TestAcceptOnlyCreatesABranch(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n", "b.txt": "bee\n"})
	reviewtest.Write(t, b.Repo+"/a.txt", "the user's own edit\n")
	reviewtest.Write(t, b.Repo+"/untracked.txt", "mine\n")
	reviewtest.GitIn(t, b.Repo, "rm", "-q", "--cached", "b.txt")
	before := reviewtest.GitIn(t, b.Repo, "status", "--porcelain") + reviewtest.GitIn(t, b.Repo, "rev-parse", "HEAD")
	index, err := os.ReadFile(b.Repo + "/.git/index")
	reviewtest.Must(t, err)
	b.Prepare()
	b.Write("agent.txt", "agent\n")
	b.Write("untracked.txt", "mine and agent's\n")
	cs := b.Compute()
	b.Want(cs, "A\tagent.txt", "M\tuntracked.txt")
	accepted, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}, Message: "Add the agent's file"})
	reviewtest.Must(t, err)
	if accepted.Branch != "aibox/k3f9" {
		t.Errorf("branch %s", accepted.Branch)
	}
	if after := reviewtest.GitIn(t, b.Repo, "status", "--porcelain") + reviewtest.GitIn(t, b.Repo, "rev-parse", "HEAD"); after != before {
		t.Errorf("status changed from\n%s\nto\n%s", before, after)
	}
	indexAfter, err := os.ReadFile(b.Repo + "/.git/index")
	reviewtest.Must(t, err)
	if !bytes.Equal(index, indexAfter) {
		t.Error("the index was written")
	}
	if got := reviewtest.GitIn(t, b.Repo, "log", "--format=%s|%an", "main..aibox/k3f9"); got != "Add the agent's file|Ann\nUncommitted work before aibox session k3f9|Ann" {
		t.Errorf("log:\n%s", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "diff", "--name-status", "aibox/k3f9^", "aibox/k3f9"); got != "A\tagent.txt\nM\tuntracked.txt" {
		t.Errorf("the agent's commit changes:\n%s", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "diff", "--name-status", "main", "aibox/k3f9^"); got != "M\ta.txt\nA\tuntracked.txt" {
		t.Errorf("the commit of uncommitted work changes:\n%s", got)
	}
	reviewtest.GitIn(t, b.Repo, "fsck", "--strict")
	again, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}})
	reviewtest.Must(t, err)
	if again.Branch != "aibox/k3f9-2" {
		t.Errorf("the second branch is %s", again.Branch)
	}
	if _, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}, Branch: "main"}); err == nil {
		t.Error("accept moved main")
	}
}

func TestADiscardedWorkspaceCanBeRestored(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
	b.Write("a.txt", "agent\n")
	saved, err := recovery.PutAway(t.Context(), b.Workspace, recovery.Discarded, scan.Options{})
	reviewtest.Must(t, err)
	if _, err := os.Lstat(b.Workspace.Path); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
	all, err := recovery.Points(t.Context(), reviewtest.DirsIn(b.Home).Repos(), "")
	reviewtest.Must(t, err)
	if len(all) != 1 || all[0].Ref != saved.Ref || all[0].What != recovery.Discarded {
		t.Fatalf("recoverable: %+v", all)
	}
	restored, err := accept.Restore(t.Context(), all[0], "")
	reviewtest.Must(t, err)
	if got := reviewtest.GitIn(t, b.Repo, "show", restored.Branch+":a.txt"); got != "agent" {
		t.Errorf("restored %q", got)
	}
	if _, err := scan.Workspace(t.Context(), b.Workspace, scan.Options{}); err == nil {
		t.Error("a discarded workspace can be reviewed")
	}
}

func TestSpecialFilesAreRefusedAndNeverOpened(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n", "b.txt": "two\n"}).Prepare()
	reviewtest.Must(t, unix.Mkfifo(b.Path("fifo"), 0o644))
	reviewtest.Must(t, os.Remove(b.Path("a.txt")))
	reviewtest.Must(t, unix.Mkfifo(b.Path("a.txt"), 0o644))
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	reviewtest.Must(t, err)
	defer unix.Close(fd)
	top, err := os.Open(b.Workspace.Path)
	reviewtest.Must(t, err)
	defer top.Close()
	reviewtest.Must(t, unix.Bind(fd, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/sock", top.Fd())})) // a socket's path is short
	sparse, err := os.Create(b.Path("sparse"))
	reviewtest.Must(t, err)
	reviewtest.Must(t, sparse.Truncate(1<<40))
	reviewtest.Must(t, sparse.Close())
	outside := filepath.Join(b.T.TempDir(), "outside")
	reviewtest.Write(t, outside, "secret")
	reviewtest.Must(t, os.Link(outside, b.Path("linked")))
	b.Write("inside1", "twin\n")
	reviewtest.Must(t, os.Link(b.Path("inside1"), b.Path("inside2")))
	b.Write("inside3", "in git\n")
	reviewtest.Must(t, os.Link(b.Path("inside3"), b.Path(".git/hidden-twin")))
	cs := b.Compute()
	b.Want(cs, "A\tinside1", "A\tinside2", "A\tinside3")
	b.Refused(cs, "fifo", "named pipe")
	b.Refused(cs, "a.txt", "named pipe")
	b.Refused(cs, "sock", "socket")
	b.Refused(cs, "sparse", "larger than")
	b.Refused(cs, "linked", "hard link")
}

func TestSymlinksAreReadAsTextAndNotFollowed(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"dir/a.txt": "one\n"}).Prepare()
	outside := t.TempDir()
	reviewtest.Write(t, outside+"/a.txt", "secret\n")
	reviewtest.Must(t, os.RemoveAll(b.Path("dir")))
	reviewtest.Must(t, os.Symlink(outside, b.Path("dir")))
	reviewtest.Must(t, os.Symlink("/etc", b.Path("etc")))
	reviewtest.Must(t, os.Symlink("loop", b.Path("loop")))
	cs := b.Compute()
	b.Want(cs, "A\tdir", "D\tdir/a.txt", "A\tetc", "A\tloop")
	var patch bytes.Buffer
	reviewtest.Must(t, printer.Patch(t.Context(), cs, &patch))
	if strings.Contains(patch.String(), "secret") {
		t.Error("the patch holds a file from outside")
	}
	b.AppliesTo(cs)
}

func TestAFolderAtTheOldNameOfARenamedSymlinkMakesAPatch(t *testing.T) {
	r := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"})
	reviewtest.Must(t, os.Symlink("nowhere", r.Repo+"/link"))
	reviewtest.GitIn(t, r.Repo, "add", "-A")
	reviewtest.GitIn(t, r.Repo, "commit", "-q", "-m", "a symlink")
	b := r.Prepare()
	reviewtest.Must(t, os.Rename(b.Path("link"), b.Path("moved")))
	b.Write("link/file", "new\n")
	b.AppliesTo(b.Compute())
}

func TestARewriteWithOldTimestampsIsFound(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "one\n"}).Prepare()
	info, err := os.Stat(b.Path("a.txt"))
	reviewtest.Must(t, err)
	f, err := os.OpenFile(b.Path("a.txt"), os.O_WRONLY, 0)
	reviewtest.Must(t, err)
	_, err = f.WriteString("eno\n")
	reviewtest.Must(t, err)
	reviewtest.Must(t, f.Close())
	reviewtest.Must(t, os.Chtimes(b.Path("a.txt"), info.ModTime(), info.ModTime()))
	b.Want(b.Compute(), "M\ta.txt")
}
