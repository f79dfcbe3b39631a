package workspace_test

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"aibox/workspace"
)

// look runs git on the copy as a sandbox does, but on the host, so it must not be used on a
// copy with traps.
func look(t testing.TB, copied *workspace.Workspace, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = copied.Path, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(copied.Path))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// opened returns a copy of a workspace, in the folder of the workspace.
func opened(t testing.TB, ws *workspace.Workspace) *workspace.Workspace {
	t.Helper()
	copied, err := workspace.Throwaway(t.Context(), workspace.ThrowawayRequest{
		Of: ws, Session: "open-" + strings.ToLower(rand.Text()), FromStart: true, Live: true,
		Dirs: dirsIn(filepath.Dir(filepath.Dir(ws.Path))),
	})
	must(t, err)
	return copied
}

func TestGitInACopySeesTheAgentsChanges(t *testing.T) {
	repo := repository(t)
	write(t, filepath.Join(repo, "a.txt"), "one\nTWO\n")
	write(t, filepath.Join(repo, ".env"), "secret\n")
	gitIn(t, repo, "add", "-f", ".env")
	gitIn(t, repo, "commit", "-qm", "a file that is hidden")
	ws := prepared(t, repo, func(r *workspace.Request) { r.Hide = workspace.DefaultHide() })
	if got := look(t, opened(t, ws), "status", "--porcelain"); got != "" {
		t.Errorf("before the agent has done anything:\n%s", got)
	}
	write(t, filepath.Join(ws.Path, "a.txt"), "one\n2\n")
	write(t, filepath.Join(ws.Path, "new.txt"), "new\n")
	must(t, os.Remove(filepath.Join(ws.Path, "dir/b.txt")))
	gitIn(t, ws.Path, "add", "-A")
	gitIn(t, ws.Path, "commit", "-qm", "the agent's own")
	copied := opened(t, ws)
	if got := look(t, copied, "status", "--porcelain"); got != " M a.txt\n D dir/b.txt\n?? new.txt" {
		t.Errorf("the status is\n%s", got)
	}
	if got := look(t, copied, "diff", "-U0", "a.txt"); !strings.Contains(got, "-TWO\n+2") {
		t.Errorf("the diff is\n%s", got)
	}
	if got := look(t, copied, "log", "--format=%s"); got != "Uncommitted work before aibox session k3f9\na file that is hidden\ncommit" {
		t.Errorf("the commits are %q", got)
	}
	if got := look(t, copied, "--git-dir=.git/agent", "log", "-1", "--format=%s"); got != "the agent's own" {
		t.Errorf("the agent's newest commit is %q", got)
	}
	if found := look(t, copied, "log", "--all", "--format=%H", "--", ".env"); found != "" {
		t.Errorf("the history of the copy holds what is hidden: %q", found)
	}
	objects := look(t, copied, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)")
	if hidden := gitIn(t, repo, "rev-parse", "HEAD:.env"); strings.Contains(objects, hidden) {
		t.Error("the copy holds the content of a hidden file")
	}
	if refs := gitIn(t, ws.GitDir, "for-each-ref", "refs/aibox/open-*"); refs != "" {
		t.Errorf("refs are left:\n%s", refs)
	}
}

// A change that keeps size and modification time is still a change.
func TestGitInACopyIgnoresForgedTimestamps(t *testing.T) {
	ws := prepared(t, repository(t))
	file := filepath.Join(ws.Path, "a.txt")
	info, err := os.Stat(file)
	must(t, err)
	write(t, file, "TWO\none\n")
	must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	if got := look(t, opened(t, ws), "status", "--porcelain"); got != " M a.txt" {
		t.Errorf("the status is %q", got)
	}
}

// Whatever the agent has put in place of its .git, the copy gets one from the host, and
// nothing is written through the agent's.
func TestACopyGetsANewGitFolder(t *testing.T) {
	for name, leave := range map[string]func(t *testing.T, ws *workspace.Workspace, outside string){
		"nothing": func(*testing.T, *workspace.Workspace, string) {},
		"a symlink to a folder outside": func(t *testing.T, ws *workspace.Workspace, outside string) {
			must(t, os.Symlink(outside, ws.Path+"/.git"))
		},
		"a symlink that leads nowhere": func(t *testing.T, ws *workspace.Workspace, outside string) {
			must(t, os.Symlink(outside+"/no", ws.Path+"/.git"))
		},
		"a file": func(t *testing.T, ws *workspace.Workspace, outside string) {
			write(t, ws.Path+"/.git", "gitdir: "+outside+"\n")
		},
		"a FIFO": func(t *testing.T, ws *workspace.Workspace, _ string) {
			must(t, unix.Mkfifo(ws.Path+"/.git", 0o644))
		},
		"a folder with links in it": func(t *testing.T, ws *workspace.Workspace, outside string) {
			must(t, os.Mkdir(ws.Path+"/.git", 0o755))
			for _, inside := range []string{"agent", "objects", "refs", "info", "config", "HEAD", "index"} {
				must(t, os.Symlink(outside, ws.Path+"/.git/"+inside))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ws, outside := prepared(t, repository(t)), t.TempDir()
			must(t, os.RemoveAll(ws.Path+"/.git"))
			leave(t, ws, outside)
			write(t, ws.Path+"/a.txt", "changed\n")
			if got := look(t, opened(t, ws), "status", "--porcelain"); got != " M a.txt" {
				t.Errorf("the status is %q", got)
			}
			if left, err := os.ReadDir(outside); err != nil || len(left) > 0 {
				t.Errorf("outside there is %v (%v)", left, err)
			}
		})
	}
}

// A running agent may rename files and change their kinds during the copy. That must not
// make it fail, follow a link or wait for a pipe.
func TestAWorkspaceIsCopiedWhileTheAgentWorks(t *testing.T) {
	ws, outside := prepared(t, repository(t)), t.TempDir()
	write(t, outside+"/secret", "secret\n")
	for i := range 50 {
		write(t, fmt.Sprintf("%s/many/%d/file", ws.Path, i), "x\n")
	}
	stop := make(chan struct{})
	var work sync.WaitGroup
	defer work.Wait()
	defer close(stop)
	work.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := fmt.Sprintf("%s/many/%d", ws.Path, i%50)
			_ = os.RemoveAll(name)
			switch i % 4 {
			case 0:
				_ = os.Symlink(outside, name)
			case 1:
				_ = unix.Mkfifo(name, 0o644)
			case 2:
				_ = os.WriteFile(name, []byte("y\n"), 0o644)
			default:
				_ = os.Mkdir(name, 0o755)
				_ = os.WriteFile(name+"/secret", []byte("z\n"), 0o644)
			}
		}
	})
	for range 20 {
		copied := opened(t, ws)
		must(t, filepath.WalkDir(copied.Path, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Type().IsRegular() && entry.Name() == "secret" {
				if data, _ := os.ReadFile(path); string(data) == "secret\n" {
					t.Errorf("%s was copied from outside", path)
				}
			}
			return err
		}))
		must(t, workspace.Remove(t.Context(), copied))
	}
}

func TestRepositoriesOfEveryKindCanBeOpened(t *testing.T) {
	unborn := filepath.Join(t.TempDir(), "unborn")
	must(t, os.Mkdir(unborn, 0o755))
	gitIn(t, unborn, "init", "-q", "-b", "main")
	write(t, filepath.Join(unborn, "a.txt"), "one\n")

	sha256 := filepath.Join(t.TempDir(), "sha256")
	must(t, os.Mkdir(sha256, 0o755))
	gitIn(t, sha256, "init", "-q", "-b", "main", "--object-format=sha256")
	commit(t, sha256, map[string]string{"a.txt": "one\n"})

	shallow := filepath.Join(t.TempDir(), "shallow")
	full := repository(t)
	commit(t, full, map[string]string{"a.txt": "two\n"})
	gitIn(t, full, "clone", "-q", "--depth", "1", "file://"+full, shallow)

	filtered := repository(t)
	gitIn(t, filtered, "config", "filter.case.clean", "tr a-z A-Z")
	gitIn(t, filtered, "config", "filter.case.smudge", "tr A-Z a-z")
	commit(t, filtered, map[string]string{".gitattributes": "*.up filter=case\n", "x.up": "pointer\n"})

	recent := filepath.Join(t.TempDir(), "recent") // newer than any index that is written now
	must(t, os.Rename(repository(t), recent))
	gitIn(t, recent, "config", "filter.case.clean", "tr a-z A-Z")
	commit(t, recent, map[string]string{".gitattributes": "*.up filter=case\n", "x.up": "pointer\n"})
	later := time.Now().Add(time.Hour)
	must(t, os.Chtimes(filepath.Join(recent, "x.up"), later, later))
	gitIn(t, recent, "status")

	for _, repo := range []string{unborn, sha256, shallow, filtered, recent} {
		t.Run(filepath.Base(repo), func(t *testing.T) {
			ws := prepared(t, repo)
			copied := opened(t, ws)
			if got := look(t, copied, "status", "--porcelain"); got != "" {
				t.Errorf("before the agent has done anything:\n%s", got)
			}
			look(t, copied, "log", "--stat")
			look(t, copied, "fsck")
			write(t, filepath.Join(ws.Path, "a.txt"), "changed\n")
			if got := look(t, opened(t, ws), "status", "--porcelain"); got != " M a.txt" {
				t.Errorf("the status is %q", got)
			}
			if got := look(t, copied, "status", "--porcelain"); got != "" {
				t.Errorf("the copy changes with the workspace: %q", got)
			}
		})
	}
}
