package workspace_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aibox/workspace"
)

func TestThePreparedWorkspaceIsCleanToGit(t *testing.T) {
	repo := repository(t)
	ws := prepared(t, repo)
	if out := status(t, ws.Path); out != "" {
		t.Errorf("git status in the workspace says:\n%s", out)
	}
	if got := gitIn(t, ws.Path, "log", "--format=%s %H"); got != gitIn(t, repo, "log", "--format=%s %H") {
		t.Errorf("log: %s", got)
	}
	if got := gitIn(t, ws.Path, "symbolic-ref", "HEAD"); got != "refs/heads/main" {
		t.Errorf("HEAD: %s", got)
	}
	if got := gitIn(t, ws.Path, "config", "user.name"); got != "Ann" {
		t.Errorf("user.name: %s", got)
	}
	if ws.Files != 2 || ws.Bytes != 12 || filepath.Base(ws.Path) != "project" {
		t.Errorf("%+v", ws)
	}
	must(t, workspace.Undo(t.Context(), ws))
	if _, err := os.Stat(ws.Path); !os.IsNotExist(err) {
		t.Error("the workspace is still there")
	}
}

func TestUncommittedWorkIsCopied(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/a.txt", "changed\n")
	write(t, repo+"/staged.txt", "staged\n")
	gitIn(t, repo, "add", "staged.txt")
	write(t, repo+"/new dir/untracked", "u\n")
	write(t, repo+"/.env", "SECRET=1\n")
	must(t, os.Remove(repo+"/dir/b.txt"))
	must(t, os.Symlink("a.txt", repo+"/link"))
	write(t, repo+"/.git/info/exclude", "ignored\n")
	write(t, repo+"/ignored", "not copied\n")
	ws := prepared(t, repo)
	want := " M a.txt\n D dir/b.txt\n?? link\n?? \"new dir/untracked\"\n?? staged.txt"
	if got := status(t, ws.Path); got != want {
		t.Errorf("status:\n%s\nwant:\n%s", got, want)
	}
	if !slices.Equal(ws.Hidden, []string{".env"}) {
		t.Errorf("hidden: %v", ws.Hidden)
	}
	tree := gitIn(t, ws.GitDir, "ls-tree", "-r", "--name-only", ws.BaseTree)
	if tree != "a.txt\nlink\nnew dir/untracked\nstaged.txt" {
		t.Errorf("base tree:\n%s", tree)
	}
	clean := prepared(t, repo, func(r *workspace.Request) { r.Clean = true })
	if got := status(t, clean.Path); got != "" || clean.Uncommitted != "" {
		t.Errorf("with --clean:\n%s", got)
	}
	if got := read(t, clean.Path+"/a.txt"); got != "one\ntwo\n" {
		t.Errorf("a.txt: %q", got)
	}
}

// Git neither shows nor commits what the user changed in a file marked assume-unchanged, so no
// branch of aibox has it either.
func TestChangesThatTheUserHidFromGitAreCopiedButNotRecorded(t *testing.T) {
	const note = "a.txt is marked assume-unchanged: your own changes there count as the agent's, once it changes the same file"
	repo := repository(t)
	gitIn(t, repo, "update-index", "--assume-unchanged", "a.txt", "dir/b.txt")
	if ws := prepared(t, repo); len(ws.Notes) != 0 {
		t.Errorf("without changes, the notes are %q", ws.Notes)
	}
	write(t, repo+"/a.txt", "password\n")
	ws := prepared(t, repo)
	if got := read(t, ws.Path+"/a.txt"); got != "password\n" {
		t.Errorf("the copy has %q", got)
	}
	if ws.Uncommitted != "" || gitIn(t, ws.GitDir, "show", ws.BaseTree+":a.txt") != "one\ntwo" {
		t.Error("the change is recorded as uncommitted work")
	}
	if !slices.Equal(ws.Notes, []string{note}) {
		t.Errorf("the notes are %q", ws.Notes)
	}
}

func TestAFileThatIsStagedAndThenHiddenFromGitIsCopied(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/a.txt", "staged\n")
	gitIn(t, repo, "add", "a.txt")
	gitIn(t, repo, "update-index", "--assume-unchanged", "a.txt")
	write(t, repo+"/a.txt", "password\n")
	ws, err := prepare(t, repo)
	must(t, err)
	if got := gitIn(t, ws.GitDir, "show", ws.BaseTree+":a.txt"); got != "staged" || read(t, ws.Path+"/a.txt") != "password\n" {
		t.Errorf("the file is recorded as %q, and copied as %q", got, read(t, ws.Path+"/a.txt"))
	}
}

// On a disk without symlinks git writes their targets into files, which are no change.
func TestSymlinksOfADiskWithoutThemAreSymlinks(t *testing.T) {
	repo := repository(t)
	for link, target := range map[string]string{"same": "a.txt", "other": "a.txt", "empty": "a.txt", "long": "a.txt"} {
		if err := os.Symlink(target, repo+"/"+link); err != nil {
			t.Fatal(err)
		}
	}
	gitIn(t, repo, "add", "-A")
	gitIn(t, repo, "commit", "-qm", "links")
	gitIn(t, repo, "config", "core.symlinks", "false")
	gitIn(t, repo, "rm", "-q", "--cached", "same", "other", "empty", "long")
	gitIn(t, repo, "reset", "-q", "--hard")
	if status := gitIn(t, repo, "status", "--porcelain"); status != "" {
		t.Fatalf("git prints\n%s", status)
	}
	if ws := prepared(t, repo); ws.Uncommitted != "" {
		t.Errorf("recorded as uncommitted work:\n%s", gitIn(t, ws.GitDir, "diff-tree", "-r", ws.Head, ws.Uncommitted))
	}
	write(t, repo+"/other", "dir/b.txt")
	write(t, repo+"/empty", "") // which no symlink can be
	write(t, repo+"/long", strings.Repeat("x", 5000))
	ws := prepared(t, repo)
	for link, want := range map[string]string{"same": "a.txt", "other": "dir/b.txt"} {
		if got, err := os.Readlink(ws.Path + "/" + link); got != want {
			t.Errorf("%s leads to %q: %v", link, got, err)
		}
	}
	if got := gitIn(t, ws.GitDir, "diff-tree", "-r", "--name-status", ws.Head, ws.BaseTree); got != "T\tempty\nT\tlong\nM\tother" {
		t.Errorf("uncommitted work:\n%s", got)
	}
}

func TestAFileThatIsNotCheckedOutIsLeftOutAndNoted(t *testing.T) {
	repo := repository(t)
	gitIn(t, repo, "update-index", "--skip-worktree", "a.txt")
	write(t, repo+"/a.txt", "password\n")
	ws := prepared(t, repo)
	if _, err := os.Stat(ws.Path + "/a.txt"); err == nil {
		t.Error("it is copied")
	}
	if want := []string{"1 file outside your sparse checkout, or marked skip-worktree, is left out"}; !slices.Equal(ws.Notes, want) {
		t.Errorf("the notes are %q", ws.Notes)
	}
}

func TestAFolderReplacedByAFileIsCopiedAsAFile(t *testing.T) {
	repo := repository(t)
	must(t, os.RemoveAll(repo+"/dir"))
	write(t, repo+"/dir", "a file now\n")
	ws := prepared(t, repo)
	if got := read(t, ws.Path+"/dir"); got != "a file now\n" {
		t.Errorf("dir: %q", got)
	}
	if tree := gitIn(t, ws.GitDir, "ls-tree", "-r", "--name-only", ws.BaseTree); tree != "a.txt\ndir" {
		t.Errorf("base tree:\n%s", tree)
	}
}

func TestAnotherBranchIsCopiedFromItsCommit(t *testing.T) {
	repo := repository(t)
	gitIn(t, repo, "switch", "-qc", "feature/x")
	commit(t, repo, map[string]string{"feature.txt": "f\n"})
	must(t, os.Symlink("a.txt", repo+"/link"))
	must(t, os.Chmod(repo+"/a.txt", 0o755))
	commit(t, repo, nil)
	gitIn(t, repo, "switch", "-q", "main")
	ws := prepared(t, repo, func(r *workspace.Request) { r.Branch = "feature/x" })
	if got := status(t, ws.Path); got != "" {
		t.Errorf("status:\n%s", got)
	}
	if got := gitIn(t, ws.Path, "branch", "--show-current"); got != "feature/x" {
		t.Errorf("branch %s", got)
	}
	if info, err := os.Stat(ws.Path + "/a.txt"); err != nil || info.Mode().Perm()&0o100 == 0 {
		t.Errorf("a.txt: %v %v", info, err)
	}
}

func TestAnOccupiedWorkspaceIsKept(t *testing.T) {
	repo := repository(t)
	home := t.TempDir()
	write(t, home+"/agent_workspace/project/precious", "mine\n")
	ws := prepared(t, repo, func(r *workspace.Request) { r.Dirs = dirsIn(home) })
	if filepath.Base(ws.Path) != "project-k3f9" {
		t.Errorf("workspace %s", ws.Path)
	}
	if got := read(t, home+"/agent_workspace/project/precious"); got != "mine\n" {
		t.Errorf("precious: %q", got)
	}
}

func TestSessionsOnOneRepositoryStartConcurrently(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/a.txt", "uncommitted\n")
	dirs := dirsIn(t.TempDir())
	made := make(chan *workspace.Workspace)
	sessions := []string{"one", "two", "three", "four"}
	for _, session := range sessions {
		go func() {
			ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: session, Dirs: dirs})
			if err != nil {
				t.Errorf("%s: %v", session, err)
			}
			made <- ws
		}()
	}
	folders := map[string]bool{}
	for range sessions {
		if ws := <-made; ws != nil {
			folders[ws.Path] = true
			if got := status(t, ws.Path); got != " M a.txt" {
				t.Errorf("%s: %q", ws.Path, got)
			}
		}
	}
	if len(folders) != len(sessions) {
		t.Errorf("folders: %v", folders)
	}
}

func TestHistoryDepthIsLimited(t *testing.T) {
	repo := repository(t)
	for _, name := range []string{"1", "2", "3"} {
		commit(t, repo, map[string]string{name: name})
	}
	ws := prepared(t, repo, func(r *workspace.Request) { r.Depth = 2 })
	if got := gitIn(t, ws.Path, "rev-list", "--count", "HEAD"); got != "2" {
		t.Errorf("%s commits", got)
	}
	if len(ws.Notes) != 1 || !strings.Contains(ws.Notes[0], "last 2 commits") {
		t.Errorf("notes: %v", ws.Notes)
	}
}

func TestFilesNamedLikeCommitsAreNotTakenForThem(t *testing.T) {
	repo := repository(t)
	id := strings.Repeat("0123456789", 4)
	commit(t, repo, map[string]string{id: "a file at the top", "dir/" + id + " " + id: "another"})
	ws := prepared(t, repo)
	gitIn(t, ws.Path, "fsck", "--strict")
	if got, want := gitIn(t, ws.Path, "log", "--format=%H %P"), gitIn(t, repo, "log", "--format=%H %P"); got != want {
		t.Errorf("the agent's history is\n%s\nnot\n%s", got, want)
	}
}

func TestTheUsersIgnoreRulesAreFoundWhereGitFindsThem(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	write(t, filepath.Join(home, "rules"), "mine\n")
	write(t, filepath.Join(home, ".config", "git", "ignore"), "default\n")
	for set, want := range map[string]string{"~/rules": "mine\n", filepath.Join(home, "rules"): "mine\n", "": "default\n"} {
		repo := repository(t)
		gitIn(t, repo, "config", "core.excludesFile", set)
		baseline, err := workspace.LoadBaseline(prepared(t, repo, func(r *workspace.Request) { r.Dirs.Home = home }).Baseline)
		must(t, err)
		if len(baseline.Ignore) == 0 || string(baseline.Ignore[0].Data) != want {
			t.Errorf("with core.excludesFile %q the rules are %q", set, baseline.Ignore)
		}
	}
}

func TestTheUsersRepositoryIsOnlyRead(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/a.txt", "changed\n")
	write(t, repo+"/new.txt", "new\n")
	before := times(t, repo)
	ws := prepared(t, repo)
	if got := status(t, ws.Path); got != " M a.txt\n?? new.txt" {
		t.Errorf("status: %q", got)
	}
	if diff := cmp.Diff(before, times(t, repo)); diff != "" {
		t.Errorf("the repository was written (-before +after):\n%s", diff)
	}
}

// times returns the change times of everything below dir.
func times(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	all := map[string]int64{}
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		all[path] = info.Sys().(*syscall.Stat_t).Ctim.Nano()
		return err
	}))
	return all
}

func TestAiboxsOwnFoldersInARepositoryAreNotCopied(t *testing.T) {
	repo, own := repository(t), repository(t)
	link := filepath.Join(t.TempDir(), "home")
	must(t, os.Symlink(repo, link))
	write(t, repo+"/.local/state/aibox/record", "a prompt\n")
	if ws := prepared(t, repo, func(r *workspace.Request) { r.Dirs = dirsIn(link) }); ws.Files != 2 {
		t.Errorf("with a home behind a symlink, %d files are copied", ws.Files)
	}
	write(t, own+"/record", "a prompt\n")
	dirs := dirsIn(t.TempDir())
	dirs.State = own
	if ws := prepared(t, own, func(r *workspace.Request) { r.Dirs = dirs }); ws.Files != 2 {
		t.Errorf("of a repository in such a folder, %d files are copied", ws.Files)
	}
}

func TestRemoveNeverFollowsASymlink(t *testing.T) {
	ws := prepared(t, repository(t))
	outside := t.TempDir()
	write(t, outside+"/precious", "mine\n")
	must(t, os.Symlink(outside, ws.Path+"/link"))
	must(t, os.RemoveAll(ws.Path+"/.git"))
	must(t, os.Symlink(outside, ws.Path+"/.git"))
	must(t, os.MkdirAll(ws.Path+"/d/.aibox-removed-1/x", 0o755))
	must(t, os.MkdirAll(ws.Path+"/.aibox-removed-1/x", 0o755))
	must(t, os.Chmod(ws.Path+"/d", 0))
	must(t, workspace.Remove(t.Context(), ws))
	if got := read(t, outside+"/precious"); got != "mine\n" {
		t.Errorf("precious: %q", got)
	}
	must(t, workspace.Remove(t.Context(), ws))
}

// The copy of a repository can be missing when a session whose agent never started is undone.
func TestAWorkspaceIsUndoneWithoutItsRepository(t *testing.T) {
	ws := prepared(t, repository(t))
	must(t, os.RemoveAll(ws.GitDir))
	must(t, os.MkdirAll(ws.GitDir, 0o700))
	must(t, workspace.Undo(t.Context(), ws))
}

// git leaves the lock of a ref if it is ended while it creates the file.
func TestAWorkspaceIsUndoneWithTheLocksOfItsRefs(t *testing.T) {
	ws := prepared(t, repository(t))
	refs := filepath.Join(ws.GitDir, "refs/aibox", ws.Session)
	write(t, filepath.Join(refs, "base.lock"), "")
	must(t, workspace.Undo(t.Context(), ws))
	if _, err := os.Lstat(refs); !os.IsNotExist(err) {
		t.Errorf("the refs or their locks are left: %v", err)
	}
	write(t, filepath.Join(refs, "base-0123456789ab.lock"), "")
	must(t, workspace.Undo(t.Context(), ws))
	if _, err := os.Lstat(refs); !os.IsNotExist(err) {
		t.Errorf("a lock without a ref is left: %v", err)
	}
}

// git prints each path on a line of its own.
func TestARepositoryInAFolderWithALineEndInItsNameIsCopied(t *testing.T) {
	below := filepath.Join(t.TempDir(), "two\nlines")
	must(t, os.Mkdir(below, 0o755))
	repo := filepath.Join(below, "project")
	must(t, os.Rename(repository(t), repo))
	if ws := prepared(t, repo); read(t, ws.Path+"/a.txt") != "one\ntwo\n" {
		t.Error("its files are missing")
	}
}
