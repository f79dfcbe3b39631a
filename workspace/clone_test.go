package workspace_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/workspace"
)

// cloned prepares a workspace of a URL in home, and returns the commit that it starts from.
func cloned(t *testing.T, repo, home, session string) (string, error) {
	t.Helper()
	ws, err := prepare(t, "file://"+repo, func(r *workspace.Request) { r.Dirs, r.Session = dirsIn(home), session })
	if err != nil {
		return "", err
	}
	return ws.Head, nil
}

func TestACloneFollowsItsServer(t *testing.T) {
	for name, change := range map[string]func(repo, clone string){
		"another default branch": func(repo, _ string) {
			gitIn(t, repo, "switch", "-qc", "trunk")
			commit(t, repo, map[string]string{"a.txt": "trunk\n"})
		},
		"a renamed default branch": func(repo, _ string) {
			gitIn(t, repo, "branch", "-m", "trunk")
			commit(t, repo, map[string]string{"a.txt": "trunk\n"})
		},
		"a branch in the place of a folder of branches": func(repo, _ string) {
			gitIn(t, repo, "branch", "-D", "side/one", "side/two")
			gitIn(t, repo, "branch", "side")
		},
		"a folder of branches in the place of a branch": func(repo, _ string) {
			gitIn(t, repo, "branch", "-D", "flat")
			gitIn(t, repo, "branch", "flat/one")
		},
		"a tag in the place of a folder of tags": func(repo, _ string) {
			gitIn(t, repo, "tag", "-d", "rc/one")
			gitIn(t, repo, "tag", "rc", "outside")
		},
		"a folder of tags in the place of a tag": func(repo, _ string) {
			gitIn(t, repo, "tag", "-d", "nightly")
			gitIn(t, repo, "tag", "nightly/one")
			gitIn(t, repo, "tag", "nightly/two", "outside")
		},
		"locks of a git that was killed": func(repo, clone string) {
			gitIn(t, repo, "branch", "-m", "trunk")
			commit(t, repo, map[string]string{"a.txt": "new\n"})
			for _, lock := range []string{"packed-refs.lock", "HEAD.lock", "refs/heads/trunk.lock"} {
				write(t, filepath.Join(clone, lock), "")
				age(t, filepath.Join(clone, lock))
			}
			write(t, filepath.Join(clone, "refs/heads/held.lock"), "") // of a git that may still run
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo, home := repository(t), t.TempDir()
			for _, branch := range []string{"side/one", "side/two", "flat"} {
				gitIn(t, repo, "branch", branch)
			}
			gitIn(t, repo, "tag", "outside", gitIn(t, repo, "commit-tree", "-m", "on no branch", "HEAD^{tree}"))
			for _, tag := range []string{"rc/one", "nightly"} {
				gitIn(t, repo, "tag", tag, "outside")
			}
			_, err := cloned(t, repo, home, "k3f9")
			must(t, err)
			clones, _ := filepath.Glob(filepath.Join(dirsIn(home).Repos(), "clone-*.git"))
			if len(clones) != 1 {
				t.Fatalf("the clones are %v", clones)
			}
			accepted := gitIn(t, clones[0], "commit-tree", "-m", "accepted", "-p", "HEAD", "HEAD^{tree}")
			gitIn(t, clones[0], "update-ref", "refs/heads/aibox/work", accepted)
			change(repo, clones[0])
			got, err := cloned(t, repo, home, "k3fa")
			must(t, err)
			if want := gitIn(t, repo, "rev-parse", "HEAD"); got != want {
				t.Errorf("it starts from %s, not from %s", got, want)
			}
			if _, err := os.Lstat(filepath.Join(clones[0], "refs/heads/held.lock")); err != nil && strings.HasPrefix(name, "locks") {
				t.Error(err)
			}
			if kept := gitIn(t, clones[0], "rev-parse", "refs/heads/aibox/work"); kept != accepted {
				t.Errorf("the branch of accepted work is %s", kept)
			}
			for _, tag := range strings.Fields(gitIn(t, repo, "tag")) {
				if got, want := gitIn(t, clones[0], "rev-parse", tag), gitIn(t, repo, "rev-parse", tag); got != want {
					t.Errorf("the tag %s is %s, not %s", tag, got, want)
				}
			}
			if replaced := gitIn(t, clones[0], "for-each-ref", "refs/aibox/replaced/"); strings.Contains(name, "tag") && replaced != "" {
				t.Errorf("tags are kept as work: %s", replaced)
			}
			if server := read(t, filepath.Join(clones[0], "aibox-server")); strings.Contains(server, "refs/tags/") {
				t.Errorf("the server's branches are recorded as %q", server)
			}
		})
	}
}

func TestACloneFollowsTheTagsOfItsServer(t *testing.T) {
	repo, home := repository(t), t.TempDir()
	gitIn(t, repo, "tag", "nightly")
	_, err := cloned(t, repo, home, "k3f9")
	must(t, err)
	commit(t, repo, map[string]string{"a.txt": "new\n"})
	gitIn(t, repo, "tag", "-f", "nightly")
	gitIn(t, repo, "tag", "v1", gitIn(t, repo, "commit-tree", "-m", "on no branch", "HEAD^{tree}"))
	for session, tag := range map[string]string{"k3fa": "nightly", "k3fb": "v1"} {
		ws, err := prepare(t, "file://"+repo, func(r *workspace.Request) { r.Dirs, r.Session, r.Branch = dirsIn(home), session, tag })
		if err != nil {
			t.Errorf("%s: %v", tag, err)
		} else if want := gitIn(t, repo, "rev-parse", tag); ws.Head != want {
			t.Errorf("%s is %s, not %s", tag, ws.Head, want)
		}
	}
}

// sshThat puts a program named ssh that runs a script before the real one.
func sshThat(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\n"+script), 0o755))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestACloneThatFailsOnAFullDiskIsReportedAsSuch(t *testing.T) {
	sshThat(t, "echo 'fatal: write error: No space left on device' >&2; exit 1\n")
	_, err := prepare(t, "ssh://git@example.com/project")
	if fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "is full") {
		t.Errorf("the error is %v", err)
	}
}

func TestACloneThatTheUserCancelsIsReportedAsSuch(t *testing.T) {
	began := filepath.Join(t.TempDir(), "began")
	sshThat(t, "echo >"+began+"; exec sleep 60\n")
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for ctx.Err() == nil {
			if _, err := os.Stat(began); err == nil {
				cancel()
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	_, err := workspace.Prepare(ctx, workspace.Request{Repo: "ssh://git@example.com/project", Session: "k3f9", Dirs: dirsIn(t.TempDir())})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// The user accepts a part of the work, pushes it as aibox says, and then accepts more.
func TestAcceptedWorkStaysOnABranchThatWasPushed(t *testing.T) {
	repo, home := repository(t), t.TempDir()
	_, err := cloned(t, repo, home, "k3f9")
	must(t, err)
	clones, _ := filepath.Glob(filepath.Join(dirsIn(home).Repos(), "clone-*.git"))
	if len(clones) != 1 {
		t.Fatalf("the clones are %v", clones)
	}
	clone := clones[0]
	first := gitIn(t, clone, "commit-tree", "-m", "accepted", "-p", "HEAD", "HEAD^{tree}")
	gitIn(t, clone, "update-ref", "refs/heads/aibox/work", first)
	gitIn(t, clone, "push", "-q", "origin", "aibox/work")
	second := gitIn(t, clone, "commit-tree", "-m", "accepted later", "-p", first, "HEAD^{tree}")
	gitIn(t, clone, "update-ref", "refs/heads/aibox/work", second)
	for _, session := range []string{"k3fa", "k3fb"} {
		_, err = cloned(t, repo, home, session)
		must(t, err)
		if now := gitIn(t, clone, "rev-parse", "refs/heads/aibox/work"); now != second {
			t.Errorf("%s: the branch of accepted work is at %s, not at %s", session, now, second)
		}
	}

	other := gitIn(t, repo, "commit-tree", "-m", "of another user", "-p", first, "HEAD^{tree}")
	gitIn(t, repo, "update-ref", "refs/heads/aibox/work", other)
	_, err = cloned(t, repo, home, "k3fc")
	must(t, err)
	if now := gitIn(t, clone, "rev-parse", "refs/heads/aibox/work"); now != other {
		t.Errorf("the branch with the commit of another user is at %s, not at %s", now, other)
	}
	if gitIn(t, clone, "for-each-ref", "--contains", second) == "" {
		t.Error("no ref keeps the accepted work")
	}
}

// An accept does not wait for an update, which can take long.
func TestABranchThatAnAcceptMovesDuringAnUpdateKeepsItsCommits(t *testing.T) {
	real, err := exec.LookPath("git")
	must(t, err)
	for _, during := range []string{"fetch ", "update-ref --no-deref --stdin"} {
		t.Run(during, func(t *testing.T) {
			repo, home := repository(t), t.TempDir()
			_, err := cloned(t, repo, home, "k3f9")
			must(t, err)
			clones, _ := filepath.Glob(filepath.Join(dirsIn(home).Repos(), "clone-*.git"))
			if len(clones) != 1 {
				t.Fatalf("the clones are %v", clones)
			}
			clone := clones[0]
			first := gitIn(t, clone, "commit-tree", "-m", "accepted", "-p", "HEAD", "HEAD^{tree}")
			gitIn(t, clone, "update-ref", "refs/heads/aibox/work", first)
			gitIn(t, clone, "push", "-q", "origin", "aibox/work")
			_, err = cloned(t, repo, home, "k3fa")
			must(t, err)
			second := gitIn(t, clone, "commit-tree", "-m", "accepted later", "-p", first, "HEAD^{tree}")
			other := gitIn(t, repo, "commit-tree", "-m", "of another user", "-p", first, "HEAD^{tree}")
			gitIn(t, repo, "update-ref", "refs/heads/aibox/work", other)

			bin, once := t.TempDir(), filepath.Join(t.TempDir(), "once")
			write(t, once, "")
			write(t, filepath.Join(bin, "git"), fmt.Sprintf(`#!/bin/sh
case "$*" in *%q*) [ -e %[2]s ] && rm %[2]s && %[3]s --git-dir %[4]s update-ref refs/heads/aibox/work %[5]s ;; esac
exec %[3]s "$@"
`, during, once, real, clone, second))
			must(t, os.Chmod(filepath.Join(bin, "git"), 0o755))
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			_, err = cloned(t, repo, home, "k3fb")
			must(t, err)
			if _, err := os.Stat(once); err == nil {
				t.Fatal("the branch was not moved")
			}
			if now := gitIn(t, clone, "rev-parse", "refs/heads/aibox/work"); now != other {
				t.Errorf("the branch is at %s, not at %s", now, other)
			}
			if gitIn(t, clone, "for-each-ref", "--contains", second) == "" {
				t.Error("no ref keeps the accepted work")
			}
		})
	}
}

func TestABranchInAWorktreeOfACloneIsNotMoved(t *testing.T) {
	repo, home := repository(t), t.TempDir()
	_, err := cloned(t, repo, home, "k3f9")
	must(t, err)
	clones, _ := filepath.Glob(filepath.Join(dirsIn(home).Repos(), "clone-*.git"))
	if len(clones) != 1 {
		t.Fatalf("the clones are %v", clones)
	}
	branch := gitIn(t, repo, "symbolic-ref", "--short", "HEAD")
	was := gitIn(t, clones[0], "rev-parse", branch)
	gitIn(t, clones[0], "worktree", "add", "-q", filepath.Join(t.TempDir(), "tree"), branch)
	_, err = cloned(t, repo, home, "k3fa")
	must(t, err)
	commit(t, repo, map[string]string{"a.txt": "new\n"})
	if _, err := cloned(t, repo, home, "k3fb"); err == nil || !strings.Contains(err.Error(), "checked out") {
		t.Errorf("the update gives %v", err)
	}
	if now := gitIn(t, clones[0], "rev-parse", branch); now != was {
		t.Errorf("it was moved to %s", now)
	}
}

func TestTheUsersSettingsOfCloneAndFetchDoNotApplyToAiboxsClones(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config")
	write(t, config, "[fetch]\n\tprune = true\n[clone]\n\tdefaultRemoteName = upstream\n")
	t.Setenv("GIT_CONFIG_GLOBAL", config)
	repo, home := repository(t), t.TempDir()
	_, err := cloned(t, repo, home, "k3f9")
	must(t, err)
	clones, _ := filepath.Glob(filepath.Join(dirsIn(home).Repos(), "clone-*.git"))
	if len(clones) != 1 {
		t.Fatalf("the clones are %v", clones)
	}
	accepted := gitIn(t, clones[0], "commit-tree", "-m", "accepted", "-p", "HEAD", "HEAD^{tree}")
	gitIn(t, clones[0], "update-ref", "refs/heads/aibox/work", accepted)
	_, err = cloned(t, repo, home, "k3fa")
	must(t, err)
	if kept := gitIn(t, clones[0], "for-each-ref", "--format=%(objectname)", "refs/heads/aibox/work"); kept != accepted {
		t.Errorf("the branch of accepted work is at %q, not at %s", kept, accepted)
	}
}

func TestACloneFollowsAServerThatTakesCommitsBack(t *testing.T) {
	repo, home := repository(t), t.TempDir()
	commit(t, repo, map[string]string{"a.txt": "a mistake\n"})
	_, err := cloned(t, repo, home, "k3f9")
	must(t, err)
	for _, session := range []string{"k3fa", "k3fb"} { // the second server has been recorded by an update
		gitIn(t, repo, "reset", "-q", "--hard", "HEAD^")
		got, err := cloned(t, repo, home, session)
		must(t, err)
		if want := gitIn(t, repo, "rev-parse", "HEAD"); got != want {
			t.Errorf("%s starts from %s, not from %s", session, got, want)
		}
		commit(t, repo, map[string]string{"a.txt": session})
		_, err = cloned(t, repo, home, session+"-next")
		must(t, err)
	}
}

func TestSessionsOnOneURLStartConcurrently(t *testing.T) {
	repo, home := repository(t), t.TempDir()
	_, err := cloned(t, repo, home, "k3f9")
	must(t, err)
	commit(t, repo, map[string]string{"a.txt": "new\n"})
	for i := range 100 {
		gitIn(t, repo, "branch", fmt.Sprintf("b%d", i))
	}
	var running sync.WaitGroup
	for i := range 6 {
		running.Go(func() {
			if _, err := cloned(t, repo, home, fmt.Sprintf("s%d", i)); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
}

// Packs of a git that was killed are large, and no object in them is known to git.
func TestCollectingRemovesThePacksOfAGitThatWasKilled(t *testing.T) {
	ws := prepared(t, repository(t))
	old := filepath.Join(ws.GitDir, "objects/pack/tmp_pack_a1b2c3")
	young := filepath.Join(ws.GitDir, "objects/pack/tmp_pack_d4e5f6")
	write(t, old, "12345")
	write(t, young, "1")
	age(t, old)
	for _, dry := range []bool{true, false} {
		m, err := workspace.Maintain(t.Context(), ws.GitDir, dry)
		must(t, err)
		objects, size, err := m.Collect(t.Context())
		m.Close()
		must(t, err)
		if objects != 1 || size != 5 {
			t.Errorf("dry %v: %d objects of %d bytes", dry, objects, size)
		}
		if _, err := os.Lstat(old); (err == nil) != dry {
			t.Errorf("dry %v: the old pack: %v", dry, err)
		}
	}
	if _, err := os.Lstat(young); err != nil {
		t.Error(err)
	}
}

// Git would wait for a process that has the number of the killed one.
func TestCollectingWorksAfterAGitThatWasKilled(t *testing.T) {
	ws := prepared(t, repository(t))
	lost := blob(t, ws.GitDir, "lost\n")
	object := filepath.Join(ws.GitDir, "objects", lost[:2], lost[2:])
	age(t, object)
	host, err := os.Hostname()
	must(t, err)
	write(t, filepath.Join(ws.GitDir, "gc.pid"), fmt.Sprintf("%d %s", os.Getpid(), host))
	m, err := workspace.Maintain(t.Context(), ws.GitDir, false)
	must(t, err)
	defer m.Close()
	if objects, _, err := m.Collect(t.Context()); err != nil || objects != 1 {
		t.Errorf("%d objects, %v", objects, err)
	}
}

// age makes a file two hours old.
func age(t *testing.T, path string) {
	t.Helper()
	then := time.Now().Add(-2 * time.Hour)
	must(t, os.Chtimes(path, then, then))
}

func TestMaintenanceWorksWithTheLocksOfAGitThatWasKilled(t *testing.T) {
	ws := prepared(t, repository(t))
	gitIn(t, ws.GitDir, "pack-refs", "--all")
	for _, lock := range []string{"packed-refs.lock", "refs/aibox/k3f9.lock"} {
		write(t, filepath.Join(ws.GitDir, lock), "")
		age(t, filepath.Join(ws.GitDir, lock))
	}
	held := filepath.Join(ws.GitDir, "HEAD.lock") // of a git that may still run
	write(t, held, "")
	m, err := workspace.Maintain(t.Context(), ws.GitDir, false)
	must(t, err)
	defer m.Close()
	must(t, m.Forget(t.Context(), ws.Session))
	if out := gitIn(t, ws.GitDir, "for-each-ref"); out != "" {
		t.Errorf("the refs are %s", out)
	}
	if _, err := os.Lstat(held); err != nil {
		t.Error(err)
	}
}

func TestARepositoryOfAiboxThatWasNotFinishedIsMadeAgain(t *testing.T) {
	repo, home := repository(t), t.TempDir()
	in := func(r *workspace.Request) { r.Dirs = dirsIn(home) }
	ws, err := prepare(t, repo, in)
	must(t, err)
	must(t, workspace.Undo(t.Context(), ws))
	must(t, os.RemoveAll(ws.GitDir))
	write(t, filepath.Join(ws.GitDir, "config.lock"), "") // git init was killed
	ws, err = prepare(t, repo, in)
	must(t, err)
	must(t, os.RemoveAll(ws.Path))
	must(t, os.Remove(filepath.Join(ws.GitDir, "aibox", "repository")))
	_, err = prepare(t, repo, in, func(r *workspace.Request) { r.Session = "k3fa" })
	must(t, err)
	if gitIn(t, ws.GitDir, "for-each-ref", "refs/aibox/k3f9/") == "" {
		t.Error("the work of an earlier session is gone")
	}
}

// Git can fail in a repository that has the work of sessions, such as for a configuration that it
// cannot read.
func TestARepositoryOfAiboxWithWorkIsNotMadeAgainIfGitFailsInIt(t *testing.T) {
	repo, home := repository(t), t.TempDir()
	in := func(r *workspace.Request) { r.Dirs = dirsIn(home) }
	for name, pack := range map[string]bool{"loose": false, "packed": true} {
		ws, err := prepare(t, repo, in, func(r *workspace.Request) { r.Session = name })
		must(t, err)
		if pack {
			gitIn(t, ws.GitDir, "pack-refs", "--all")
		}
		must(t, os.Remove(filepath.Join(ws.GitDir, "aibox", "repository")))
		config := filepath.Join(ws.GitDir, "config")
		whole := read(t, config)
		write(t, config, "[")
		if _, err := prepare(t, repo, in, func(r *workspace.Request) { r.Session = name + "2" }); err == nil {
			t.Errorf("%s: a session starts with a repository that git cannot read", name)
		}
		write(t, config, whole)
		if gitIn(t, ws.GitDir, "for-each-ref", "refs/aibox/"+name+"/") == "" {
			t.Errorf("%s: the work of an earlier session is gone", name)
		}
	}
}

func TestTheUsersLimitOfAPacksSizeDoesNotApplyToAiboxsPacks(t *testing.T) {
	repo := repository(t)
	gitIn(t, repo, "config", "pack.packSizeLimit", "1m")
	content := make([]byte, 700<<10)
	for _, name := range []string{"1.bin", "2.bin", "3.bin"} {
		_, _ = rand.Read(content)
		commit(t, repo, map[string]string{name: string(content)})
	}
	if log := gitIn(t, prepared(t, repo).Path, "log", "--oneline"); strings.Count(log, "\n") != 3 {
		t.Errorf("the agent gets the commits\n%s", log)
	}
}
