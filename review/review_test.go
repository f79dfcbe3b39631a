package review_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"golang.org/x/sys/unix"

	"aibox/internal/paths"
	"aibox/review"
	"aibox/workspace"
)

// bench is a repository of the user, and a workspace made from it.
type bench struct {
	t    testing.TB
	repo string
	home string
	ws   *workspace.Workspace
}

func gitIn(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", append([]string{
		"-C", dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "maintenance.auto=false",
	}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

// settle writes the settings of Ann's repository: she has a name, and nothing is tidied
// in the background. A git less for each repository of the tests is seconds in all.
func settle(t testing.TB, repo string) {
	t.Helper()
	config, err := os.OpenFile(filepath.Join(repo, ".git/config"), os.O_WRONLY|os.O_APPEND, 0)
	must(t, err)
	_, err = config.WriteString("[gc]\n\tauto = 0\n[user]\n\tname = Ann\n\temail = ann@example.org\n")
	must(t, errors.Join(err, config.Close()))
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func dirsIn(home string) paths.Dirs {
	return paths.Dirs{
		Home: home, Config: home + "/.config/aibox", State: home + "/.local/state/aibox",
		Data: home + "/.local/share/aibox", Cache: home + "/.cache/aibox", Workspace: home + "/agent_workspace",
	}
}

// newRepository makes a repository with files, all committed.
func newRepository(t testing.TB, files map[string]string) *bench {
	t.Helper()
	b := &bench{t: t, repo: filepath.Join(t.TempDir(), "project"), home: t.TempDir()}
	must(t, os.Mkdir(b.repo, 0o755))
	gitIn(t, b.repo, "init", "-q", "-b", "main")
	settle(t, b.repo)
	for name, content := range files {
		write(t, filepath.Join(b.repo, name), content)
	}
	gitIn(t, b.repo, "add", "-A")
	gitIn(t, b.repo, "commit", "-q", "--allow-empty", "-m", "start")
	return b
}

func (b *bench) prepare(change ...func(*workspace.Request)) *bench {
	b.t.Helper()
	req := workspace.Request{Repo: b.repo, Session: "k3f9", Dirs: dirsIn(b.home)}
	for _, f := range change {
		f(&req)
	}
	ws, err := workspace.Prepare(b.t.Context(), req)
	must(b.t, err)
	// The record is what review gets: it must survive JSON.
	data, err := json.Marshal(ws)
	must(b.t, err)
	b.ws = &workspace.Workspace{}
	must(b.t, json.Unmarshal(data, b.ws))
	return b
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	write(b.t, filepath.Join(b.ws.Path, name), content)
}

func (b *bench) path(name string) string { return filepath.Join(b.ws.Path, name) }

func (b *bench) compute() *review.ChangeSet {
	b.t.Helper()
	cs, err := review.Compute(b.t.Context(), b.ws, review.Options{})
	must(b.t, err)
	return cs
}

func (b *bench) nameStatus(cs *review.ChangeSet) string {
	var out strings.Builder
	must(b.t, cs.NameStatus(&out))
	return out.String()
}

func (b *bench) want(cs *review.ChangeSet, lines ...string) {
	b.t.Helper()
	got := strings.Split(strings.TrimSuffix(b.nameStatus(cs), "\n"), "\n")
	if got[0] == "" {
		got = nil
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		b.t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func (b *bench) refused(cs *review.ChangeSet, path, why string) {
	b.t.Helper()
	for _, r := range cs.Refused {
		if string(r.Path) == path && strings.Contains(r.Reason, why) {
			return
		}
	}
	b.t.Errorf("%q is not refused with %q: %v", path, why, cs.Refused)
}

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

// appliesTo checks that the patch turns the base into the tree.
func (b *bench) appliesTo(cs *review.ChangeSet) {
	b.t.Helper()
	var patch bytes.Buffer
	must(b.t, cs.Patch(b.t.Context(), &patch))
	work := b.t.TempDir()
	run := func(stdin []byte, args ...string) string {
		b.t.Helper()
		cmd := exec.CommandContext(b.t.Context(), "git", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GIT_DIR="+b.ws.GitDir, "GIT_INDEX_FILE="+work+"/index", "GIT_WORK_TREE="+work)
		cmd.Stdin = bytes.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.t.Fatalf("git %v: %v\n%s\n%s", args, err, out, stdin)
		}
		return strings.TrimSpace(string(out))
	}
	run(nil, "read-tree", cs.BaseTree)
	if patch.Len() > 0 {
		run(patch.Bytes(), "apply", "--cached", "--whitespace=nowarn", "-")
	}
	if tree := run(nil, "write-tree"); tree != cs.Tree {
		b.t.Errorf("the applied patch gives tree %s, want %s\n%s", tree, cs.Tree, patch.String())
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

func TestLookAlikesOfDotGitAreRefused(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n"}).prepare()
	names := []string{
		".GIT", ".Git/config", "sub/.git", "sub2/.git/config", "git~1", "GIT~2/x", ".g\u200cit", ".git.", ".git /x", ".git::$INDEX_ALLOCATION", ".git\\x",
		"d/.gi\u200dt",
	}
	for _, name := range names {
		b.write(name, "evil\n")
	}
	must(t, os.Symlink("a.txt", b.path(".gitmodules")))
	cs := b.compute()
	b.want(cs)
	if len(cs.Refused) != len(names)+1 {
		t.Errorf("refused %d of %d: %v", len(cs.Refused), len(names)+1, cs.Refused)
	}
}

func TestAwkwardNamesArriveUnchanged(t *testing.T) {
	names := []string{"a b", "new\nline", "tab\t", "-dash", "--help", "\xff\xfe", "\"quoted\"", "back\\slash", "\x1b[31m", "日本", strings.Repeat("n", 255), "e\u0301", "é"}
	files := map[string]string{}
	for _, name := range names {
		files["old/"+name] = name
	}
	b := newRepository(t, files).prepare()
	if cs := b.compute(); !cs.Empty() {
		t.Errorf("untouched, and yet:\n%s", b.nameStatus(cs))
	}
	for _, name := range names {
		b.write("old/"+name, "changed")
		b.write("new/"+name, "unlike the others: "+name+name)
	}
	cs := b.compute()
	if len(cs.Changes) != 2*len(names) {
		t.Errorf("%d changes, want %d", len(cs.Changes), 2*len(names))
	}
	if out := b.nameStatus(cs); strings.Contains(out, "\x1b") || !utf8.ValidString(out) {
		t.Errorf("the list is raw: %q", out)
	}
	b.appliesTo(cs)
	accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}})
	must(t, err)
	if got := gitIn(t, b.repo, "rev-parse", accepted.Branch+"^{tree}"); got != cs.Tree {
		t.Errorf("the branch holds %s, want %s", got, cs.Tree)
	}
	var shown bytes.Buffer
	must(t, cs.Show(t.Context(), &shown, review.ShowOptions{Color: true, Context: -1}))
	if strings.Contains(regexp.MustCompile("\x1b\\[[0-9]{0,2}m").ReplaceAllString(shown.String(), ""), "\x1b") {
		t.Error("the shown patch holds escapes of the agent")
	}
}

func TestADeepTreeIsReadAndRemoved(t *testing.T) {
	b := newRepository(t, map[string]string{"a.txt": "one\n"}).prepare()
	deep := func(depth int, name string) {
		fd, err := unix.Open(b.ws.Path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		for range depth {
			must(t, unix.Mkdirat(fd, name, 0o755))
			next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
			must(t, err)
			unix.Close(fd)
			fd = next
		}
		file, err := unix.Openat(fd, "file", unix.O_CREAT|unix.O_WRONLY, 0o644)
		must(t, err)
		unix.Close(file)
		must(t, unix.Fchmod(fd, 0))
		unix.Close(fd)
	}
	deep(2000, "d")
	deep(4000, "e")
	cs := b.compute()
	if len(cs.Changes) != 1 {
		t.Errorf("%d changes", len(cs.Changes))
	}
	if len(cs.Refused) != 1 {
		t.Errorf("refused: %d", len(cs.Refused))
	}
	if _, err := review.PutAway(t.Context(), b.ws, review.Discarded, review.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(b.ws.Path); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
}

func TestIgnoredFilesAreFoldedByTheUsersOwnRules(t *testing.T) {
	b := newRepository(t, map[string]string{".gitignore": "node_modules/\n*.log\n!keep.log\n/build\n", "src/.gitignore": "gen\n", "src/a.go": "package a\n"}).prepare()
	b.write("node_modules/x/index.js", "x")
	b.write("node_modules/y/index.js", "y")
	b.write("deep/down/node_modules/z", "z")
	b.write("a.log", "log")
	b.write("keep.log", "log")
	b.write("build/out", "o")
	b.write("src/build", "not ignored")
	b.write("src/gen/g.go", "g")
	b.write(".gitignore", "*\n") // the agent hides everything: in vain
	b.write("evil.sh", "evil")
	cs := b.compute()
	b.want(cs, "M\t.gitignore", "A\tevil.sh", "A\tkeep.log", "A\tsrc/build")
	got := map[string]int{}
	for _, i := range cs.Ignored {
		got[string(i.Path)] = i.Files
	}
	if diff := cmp.Diff(map[string]int{"node_modules": 2, "deep/down/node_modules": 1, "a.log": 1, "build": 1, "src/gen": 1}, got); diff != "" {
		t.Errorf("ignored (-want +got):\n%s", diff)
	}
}

func TestHiddenFilesStayAsTheUserHasThem(t *testing.T) {
	b := newRepository(t, map[string]string{".env": "KEY=canary-7f3a\n", "a.txt": "one\n", "certs/x.pem": "canary-7f3a\n"}).prepare()
	for _, name := range []string{".env", "certs/x.pem"} {
		if _, err := os.Lstat(b.path(name)); !os.IsNotExist(err) {
			t.Errorf("%s is in the workspace", name)
		}
	}
	if out := gitIn(t, b.ws.Path, "grep", "-l", "one", "HEAD"); out != "HEAD:a.txt" {
		t.Errorf("grep: %s", out)
	}
	objects := gitIn(t, b.ws.Path, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
	for line := range strings.Lines(objects) {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.Contains(gitIn(t, b.ws.Path, "cat-file", kind, id), "canary-7f3a") {
			t.Errorf("object %s holds the hidden file", id)
		}
	}
	if out := gitIn(t, b.ws.Path, "status", "--porcelain"); out != "" {
		t.Errorf("git status in the workspace says:\n%s", out)
	}
	b.write("a.txt", "agent\n")
	b.write(".env", "KEY=evil\n")
	cs := b.compute()
	b.want(cs, "M\ta.txt")
	b.refused(cs, ".env", "hidden")
	accepted, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{Choice: review.Choice{All: true}})
	must(t, err)
	if got := gitIn(t, b.repo, "show", accepted.Branch+":.env"); got != "KEY=canary-7f3a" {
		t.Errorf(".env is now %q", got)
	}
}

func TestCaseClashesAreNoted(t *testing.T) {
	b := newRepository(t, map[string]string{"Readme.md": "one\n"}).prepare()
	b.write("README.md", "two\n")
	cs := b.compute()
	b.want(cs, "A\tREADME.md")
	if len(cs.Changes[0].Notes) != 1 || !strings.Contains(cs.Changes[0].Notes[0], "Readme.md") {
		t.Errorf("notes: %v", cs.Changes[0].Notes)
	}
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
