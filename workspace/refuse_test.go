package workspace_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/unprivileged"
	"aibox/workspace"
)

func TestARunOnAnAgentWorkspaceIsRefused(t *testing.T) {
	home := t.TempDir()
	in := func(r *workspace.Request) { r.Dirs = dirsIn(home) }
	ws := prepared(t, repository(t), in)
	canary := filepath.Join(t.TempDir(), "canary")
	gitIn(t, ws.Path, "config", "filter.evil.clean", "touch "+canary)
	write(t, ws.Path+"/.gitattributes", "* filter=evil\n")
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(ws.Path, link))
	linked := t.TempDir()
	write(t, linked+"/.git", "gitdir: "+ws.Path+"/.git\n")
	for _, repo := range []string{ws.Path, ws.Path + "/dir", link, linked} {
		if _, err := prepare(t, repo, in, func(r *workspace.Request) { r.Session = "other" }); err == nil || !strings.Contains(err.Error(), "agent's workspace") {
			t.Errorf("%s: %v", repo, err)
		}
	}
	if _, err := os.Stat(canary); err == nil {
		t.Error("the agent's filter ran")
	}
}

func TestInvalidRunsAreRefusedAndLeaveNothing(t *testing.T) {
	empty := t.TempDir()
	gitIn(t, empty, "init", "-q", "-b", "main")
	write(t, filepath.Join(empty, ".git/refs/heads/main"), strings.Repeat("1", 40)+"\n")
	bare := t.TempDir()
	gitIn(t, bare, "init", "-q", "--bare")
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "x")
	foreign := t.TempDir()
	must(t, os.Symlink(t.TempDir(), foreign+"/agent_workspace"))
	damaged := repository(t)
	write(t, filepath.Join(damaged, ".git/HEAD"), "garbage\n")
	repo := repository(t)
	for _, c := range []struct {
		name, repo, want string
		change           func(*workspace.Request)
	}{
		{"no repository", t.TempDir(), "is not in a git repository", nil},
		{"a damaged repository", damaged, "git cannot read the repository", nil},
		{"a bare repository", bare, "bare repository", nil},
		{"a branch that is broken", empty, "finds no commit for HEAD", nil},
		{"no such path", "/nonexistent/\x1b[31m", `there is no /nonexistent/\x1b[31m`, nil},
		{"a file", file, "is a file", nil},
		{"inside .git", repo + "/.git", "inside a .git folder", nil},
		{"an unknown branch", repo, "no branch, tag or commit nope", func(r *workspace.Request) { r.Branch = "nope" }},
		{"a branch with a dash", repo, "not the name of a branch", func(r *workspace.Request) { r.Branch = "--upload-pack=x" }},
		{"a glob that is none", repo, "is not a .gitignore pattern", func(r *workspace.Request) { r.Hide = []string{"[a"} }},
		{"a helper as URL", "ext::sh -c date", "not an address", nil},
		{"a scheme that is not allowed", "http://example.org/x", "not an address", nil},
		{"a dash in a URL", "ssh://-oProxyCommand=date/x", "dash", nil},
		{"a password in a URL", "https://me:pw@example.org/x", "contains a password", nil},
		{"a token of GitLab in a URL", "https://glpat-0123456789abcdefghij@example.org/x", "or a token", nil},
		{"a token in a URL", "https://ghp_0123456789abcdefghijABCDEFGHIJ012345@example.org/x", "or a token", nil},
		{"a URL that leads nowhere", "file:///nonexistent/x", "cloning file:///nonexistent/x failed", nil},
		{"a symlinked folder for workspaces", repo, "cannot be used", func(r *workspace.Request) { r.Dirs = dirsIn(foreign) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			_, err := prepare(t, c.repo, func(r *workspace.Request) { r.Dirs = dirsIn(home) }, func(r *workspace.Request) {
				if c.change != nil {
					c.change(r)
				}
			})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Fatalf("error %v, want %q", err, c.want)
			}
			if fault.KindOf(err) != fault.Usage {
				t.Errorf("kind %v", fault.KindOf(err))
			}
			f, ok := errors.AsType[*fault.Fault](err)
			if !ok || len(f.Hints) == 0 && !strings.Contains(c.name, "dash") && !strings.Contains(c.name, "inside") {
				t.Errorf("no hint: %v", err)
			}
			nothingIn(t, home)
		})
	}
}

// nothingIn checks that the lock is the only file left under home.
func nothingIn(t *testing.T, home string) {
	t.Helper()
	must(t, filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasSuffix(d.Name(), ".lock") || strings.HasSuffix(path, ".git") {
			t.Errorf("%s is left", path)
		}
		return err
	}))
}

// TestAnUnreadableFileIsNamed needs an unprivileged user; root switches to one during the test.
func TestAnUnreadableFileIsNamed(t *testing.T) {
	repo := repository(t)
	write(t, repo+"/locked.txt", "x")
	must(t, os.Chmod(repo+"/locked.txt", 0))
	if os.Getuid() == 0 {
		unprivileged.Rerun(t)
		return
	}
	home := t.TempDir()
	_, err := prepare(t, repo, func(r *workspace.Request) { r.Dirs = dirsIn(home) })
	if err == nil || !strings.Contains(err.Error(), "locked.txt cannot be read") || fault.KindOf(err) != fault.Usage {
		t.Fatalf("error: %v", err)
	}
	nothingIn(t, home)
	ws := prepared(t, repo, func(r *workspace.Request) { r.Hide = []string{"locked.txt"} })
	must(t, workspace.Undo(t.Context(), ws))
}
