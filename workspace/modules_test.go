package workspace_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/internal/git"
	"aibox/workspace"
)

// withSubmodules is a repository with the submodule libs/outer, which has the submodule
// inner, and the submodule other, all checked out.
func withSubmodules(t testing.TB) string {
	t.Helper()
	inner, outer, repo := repository(t), repository(t), repository(t)
	commit(t, inner, map[string]string{"inner.txt": "inner\n", "id_rsa": "a key\n"})
	gitIn(t, outer, "submodule", "--quiet", "add", inner, "inner")
	commit(t, outer, map[string]string{"outer.txt": "outer\n", ".env": "TOKEN=1\n", ".gitignore": "*.log\n", "run.sh": "echo\n"})
	gitIn(t, repo, "submodule", "--quiet", "add", outer, "libs/outer")
	gitIn(t, repo, "submodule", "--quiet", "add", inner, "other")
	gitIn(t, repo, "submodule", "--quiet", "update", "--init", "--recursive")
	commit(t, repo, map[string]string{"main.txt": "main\n"})
	return repo
}

func TestSubmoduleFilesAreCopied(t *testing.T) {
	repo := withSubmodules(t)
	ws := prepared(t, repo)
	for path, want := range map[string]string{
		"main.txt": "main\n", "libs/outer/outer.txt": "outer\n", "libs/outer/inner/inner.txt": "inner\n", "other/inner.txt": "inner\n",
	} {
		if got := read(t, filepath.Join(ws.Path, path)); got != want {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, path := range []string{"libs/outer/.env", "libs/outer/inner/id_rsa", "libs/outer/.git", "other/.git"} {
		if _, err := os.Lstat(filepath.Join(ws.Path, path)); err == nil {
			t.Errorf("the agent is given %s", path)
		}
	}
	if want := []string{"libs/outer/.env", "libs/outer/inner/id_rsa", "other/id_rsa"}; !slices.Equal(sorted(ws.Hidden), want) {
		t.Errorf("hidden: %v", ws.Hidden)
	}
	if len(ws.Notes) != 0 {
		t.Errorf("notes: %v", ws.Notes)
	}
	if got := status(t, ws.Path); got != "" {
		t.Errorf("status:\n%s", got)
	}
	if got := gitIn(t, ws.Path, "log", "-1", "--format=%H", "HEAD^"); got != gitIn(t, repo, "rev-parse", "HEAD") {
		t.Errorf("below the agent's first commit is %s", got)
	}
	if got := gitIn(t, ws.Path, "ls-files", "--stage", "libs/outer/inner/inner.txt"); !strings.HasPrefix(got, "100644 ") {
		t.Errorf("git in the sandbox has %q", got)
	}
	if out := gitIn(t, ws.Path, "rev-list", "--objects", "HEAD"); strings.Contains(out, "id_rsa") || strings.Contains(out, ".env") {
		t.Errorf("a hidden file is in the agent's history:\n%s", out)
	}
	tree := gitIn(t, ws.GitDir, "ls-tree", "-r", ws.BaseTree)
	if strings.Contains(tree, "160000") || !strings.Contains(tree, "libs/outer/inner/id_rsa") {
		t.Errorf("base tree:\n%s", tree)
	}
	if ws.Uncommitted != "" {
		t.Errorf("uncommitted: %s", gitIn(t, ws.GitDir, "show", "--stat", ws.Uncommitted))
	}
	visible, hidden, err := workspace.Files(t.Context(), workspace.Request{Repo: repo, Hide: workspace.DefaultHide(), Dirs: dirsIn(t.TempDir())})
	must(t, err)
	if len(visible) != ws.Files || !slices.Contains(visible, "libs/outer/inner/inner.txt") || !slices.Equal(hidden, sorted(ws.Hidden)) {
		t.Errorf("the form gets %v, hidden %v", visible, hidden)
	}
}

func TestAPrivateKeyInASubmoduleIsHiddenByItsContent(t *testing.T) {
	repo := withSubmodules(t)
	write(t, repo+"/libs/outer/deploy.txt", "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----\n")
	gitIn(t, repo+"/libs/outer", "add", "deploy.txt")
	gitIn(t, repo+"/libs/outer", "commit", "-qm", "a key")
	ws := prepared(t, repo)
	if _, err := os.Lstat(ws.Path + "/libs/outer/deploy.txt"); err == nil {
		t.Error("the agent is given a key")
	}
	if !slices.Contains(ws.Hidden, "libs/outer/deploy.txt") || !slices.Contains(ws.Hide, "/libs/outer/deploy.txt") {
		t.Errorf("hidden %v by %v", ws.Hidden, ws.Hide)
	}
	if out := gitIn(t, ws.Path, "rev-list", "--objects", "HEAD"); strings.Contains(out, "deploy.txt") {
		t.Errorf("a key is in the agent's history:\n%s", out)
	}
}

func TestAPrivateKeyOfASubmodulesCommitIsHidden(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, module string)
		hidden bool
	}{
		"removed in the files":  {func(t *testing.T, module string) { must(t, os.Remove(module+"/deploy.txt")) }, true},
		"replaced in the files": {func(t *testing.T, module string) { write(t, module+"/deploy.txt", "a placeholder\n") }, false},
		"outside a sparse checkout": {func(t *testing.T, module string) {
			gitIn(t, module, "sparse-checkout", "set", "--no-cone", "/outer.txt")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			repo := withSubmodules(t)
			module := repo + "/libs/outer"
			commit(t, module, map[string]string{"deploy.txt": "-----BEGIN OPENSSH PRIVATE KEY-----\ncanary\n-----END OPENSSH PRIVATE KEY-----\n"})
			c.change(t, module)
			home := t.TempDir()
			ws := prepared(t, repo, func(r *workspace.Request) { r.Dirs = dirsIn(home) })
			noObjectHas(t, ws, "canary")
			if got := slices.Contains(ws.Hidden, "libs/outer/deploy.txt") && slices.Contains(ws.Hide, "/libs/outer/deploy.txt"); got != c.hidden {
				t.Errorf("hidden: %t: %v by %v", got, ws.Hidden, ws.Hide)
			}
			if got := gitIn(t, ws.Path, "ls-files", "libs/outer/deploy.txt"); got != "" {
				t.Error("the key is in the agent's index")
			}
			if got := gitIn(t, ws.Path, "show", "HEAD:libs/outer/outer.txt"); got != "outer" {
				t.Errorf("another file is %q", got)
			}
			for _, fromStart := range []bool{false, true} {
				req := workspace.ThrowawayRequest{Of: ws, Session: "verify-0aaaa", Dirs: dirsIn(home), FromStart: fromStart}
				if !fromStart {
					var err error
					req.Has, err = git.Owned(ws.GitDir).Line(t.Context(), "hash-object", "-t", "tree", "-w", "/dev/null")
					must(t, err)
					req.Tree = ws.BaseTree
				}
				made, err := workspace.Throwaway(t.Context(), req)
				must(t, err)
				noObjectHas(t, made, "canary")
				if data, _ := os.ReadFile(made.Path + "/libs/outer/deploy.txt"); strings.Contains(string(data), "canary") {
					t.Error("a copy of the workspace has the key")
				}
				must(t, workspace.Remove(t.Context(), made))
			}
			must(t, os.RemoveAll(ws.Path))
			back, err := workspace.Rebuild(t.Context(), workspace.RebuildRequest{
				Of: ws, Tree: ws.BaseTree, Dirs: dirsIn(home), Made: func(*workspace.Workspace) error { return nil },
			})
			must(t, err)
			noObjectHas(t, back, "canary")
		})
	}
}

func sorted(names []string) []string {
	names = slices.Clone(names)
	slices.Sort(names)
	return names
}

func TestUncommittedWorkInSubmodulesIsCopied(t *testing.T) {
	repo := withSubmodules(t)
	write(t, repo+"/libs/outer/outer.txt", "changed\n")
	write(t, repo+"/libs/outer/inner/new.txt", "new\n")
	write(t, repo+"/libs/outer/x.log", "ignored\n")
	recorded := gitIn(t, repo, "rev-parse", "HEAD:other")
	commit(t, repo+"/other", map[string]string{"ahead.txt": "ahead\n"})
	ahead := gitIn(t, repo+"/other", "rev-parse", "HEAD")
	before := times(t, repo)
	ws := prepared(t, repo)
	for path, was := range before {
		if times(t, repo)[path] != was {
			t.Errorf("%s was written", path)
		}
	}
	if got, want := status(t, ws.Path), " M libs/outer/outer.txt\n?? libs/outer/inner/new.txt"; got != want {
		t.Errorf("status:\n%s\nwant:\n%s", got, want)
	}
	if _, err := os.Stat(ws.Path + "/libs/outer/x.log"); err == nil {
		t.Error("an ignored file is copied")
	}
	if got := gitIn(t, ws.GitDir, "ls-tree", ws.Uncommitted, "other"); !strings.Contains(got, ahead) {
		t.Errorf("the uncommitted work records %s of other", got)
	}
	for _, m := range ws.Modules {
		want := ""
		switch m.Path {
		case "libs/outer":
			want = "M\touter.txt"
		case "libs/outer/inner":
			want = "A\tnew.txt"
		case "other":
			if m.Head != ahead {
				t.Errorf("other starts from %s", m.Head)
			}
		}
		if got := ""; want != "" {
			if got = gitIn(t, ws.GitDir, "diff", "--name-status", m.Head, m.Uncommitted); got != want {
				t.Errorf("%s: %q", m.Path, got)
			}
		} else if m.Uncommitted != "" {
			t.Errorf("%s: uncommitted work %s", m.Path, m.Uncommitted)
		}
	}
	clean := prepared(t, repo, func(r *workspace.Request) { r.Clean = true })
	if got := status(t, clean.Path); got != "" || read(t, clean.Path+"/libs/outer/outer.txt") != "outer\n" {
		t.Errorf("with --clean: %q", got)
	}
	if i := slices.IndexFunc(clean.Modules, func(m workspace.Module) bool { return m.Path == "other" }); clean.Modules[i].Head != recorded {
		t.Errorf("with --clean other starts from %s, not from %s", clean.Modules[i].Head, recorded)
	}
}

func TestASubmoduleThatIsNotCheckedOutIsReadFromItsGitFolder(t *testing.T) {
	repo := withSubmodules(t)
	gitIn(t, repo, "switch", "-q", "--orphan", "bare")
	gitIn(t, repo, "commit", "-q", "--allow-empty", "-m", "empty")
	must(t, os.RemoveAll(repo+"/libs"))
	must(t, os.RemoveAll(repo+"/other"))
	ws := prepared(t, repo, func(r *workspace.Request) { r.Branch = "main" })
	if got := read(t, ws.Path+"/libs/outer/inner/inner.txt"); got != "inner\n" {
		t.Errorf("inner.txt: %q", got)
	}
	if got := status(t, ws.Path); got != "" || len(ws.Notes) != 0 {
		t.Errorf("status %q, notes %v", got, ws.Notes)
	}
}

func TestASubmoduleThatCannotBeCopiedIsReported(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, repo string)
		clean bool
		want  []string
	}{
		"not initialized": {
			func(t *testing.T, repo string) { gitIn(t, repo, "submodule", "--quiet", "deinit", "-f", "other") }, false,
			[]string{"submodule other is left out", "run `git submodule update --init other`"},
		},
		"not initialized, in another": {
			func(t *testing.T, repo string) {
				gitIn(t, repo+"/libs/outer", "submodule", "--quiet", "deinit", "-f", "inner")
			}, false,
			[]string{"submodule libs/outer/inner is left out", "`git submodule update --init --recursive libs/outer`"},
		},
		"a symlink in its place": {
			func(t *testing.T, repo string) {
				must(t, os.Rename(repo+"/other", repo+"/moved"))
				must(t, os.Symlink("moved", repo+"/other"))
			}, false,
			[]string{"submodule other is left out", "a symlink is in its path"},
		},
		"a .git that leads elsewhere": {
			func(t *testing.T, repo string) {
				elsewhere := repository(t)
				write(t, repo+"/other/.git", "gitdir: "+elsewhere+"/.git\n")
				gitIn(t, elsewhere, "config", "core.worktree", elsewhere)
			}, false,
			[]string{"submodule other is left out", "leads elsewhere"},
		},
		"a commit that the clone lacks": {
			func(t *testing.T, repo string) {
				gitIn(t, repo, "update-index", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",other")
				gitIn(t, repo, "commit", "-qm", "ahead of the clone")
			}, true,
			[]string{"submodule other is left out", "no commit 111111111111", "git submodule update --init other"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := withSubmodules(t)
			c.spoil(t, repo)
			ws := prepared(t, repo, func(r *workspace.Request) { r.Clean = c.clean })
			i := slices.IndexFunc(ws.Notes, func(note string) bool { return strings.HasPrefix(note, "submodule ") })
			if i < 0 {
				t.Fatalf("notes: %q", ws.Notes)
			}
			for _, want := range c.want {
				if !strings.Contains(ws.Notes[i], want) {
					t.Errorf("note %q lacks %q", ws.Notes[i], want)
				}
			}
			if _, err := os.Stat(ws.Path + "/other/a.txt"); err == nil && strings.Contains(ws.Notes[i], "submodule other") {
				t.Error("files of the submodule came along")
			}
		})
	}
}

func TestASubmoduleWithAHiddenNameIsNotCopied(t *testing.T) {
	repo := withSubmodules(t)
	ws := prepared(t, repo, func(r *workspace.Request) { r.Hide = []string{"libs"} })
	if _, err := os.Stat(ws.Path + "/libs"); err == nil {
		t.Error("the agent is given a submodule in a hidden folder")
	}
	if !slices.Contains(ws.Hidden, "libs/outer") || read(t, ws.Path+"/other/inner.txt") != "inner\n" {
		t.Errorf("hidden: %v", ws.Hidden)
	}
}

func TestASubmoduleNameCannotEscapeTheRepository(t *testing.T) {
	repo := withSubmodules(t)
	outside := filepath.Dir(repo) + "/outside"
	gitIn(t, "/", "clone", "-q", "--bare", repository(t), outside)
	write(t, repo+"/.gitmodules", "[submodule \"../../../outside\"]\n\tpath = other\n\turl = -u./evil\n")
	commit(t, repo, nil)
	gitIn(t, repo, "submodule", "--quiet", "deinit", "--all", "-f")
	must(t, os.RemoveAll(repo+"/other/.git"))
	ws, err := prepare(t, repo, func(r *workspace.Request) { r.Clean = true })
	must(t, err)
	for _, m := range ws.Modules {
		if m.Path == "other" {
			t.Errorf("other is taken from %s", m.GitDir)
		}
	}
}
