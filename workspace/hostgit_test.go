package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aibox/workspace"
)

// look is a person's git in the workspace, with settings of their own that name a
// filter.
func look(t testing.TB, ws *workspace.Workspace, env []string, args ...string) string {
	t.Helper()
	args = append([]string{"-c", "filter.up.clean=touch " + canary(ws) + "; cat", "-c", "diff.up.textconv=touch " + canary(ws) + "; cat"}, args...)
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir, cmd.Env = ws.Path, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// canary is the file that the agent's commands would make.
func canary(ws *workspace.Workspace) string { return ws.Path + ".canary" }

func opened(t testing.TB, ws *workspace.Workspace) []string {
	t.Helper()
	env, err := ws.HostGit(t.Context(), filepath.Join(t.TempDir(), "git"))
	must(t, err)
	return env
}

func TestAPersonsGitSeesWhatTheAgentChanged(t *testing.T) {
	repo := repository(t)
	write(t, filepath.Join(repo, "a.txt"), "one\nTWO\n")
	write(t, filepath.Join(repo, ".env"), "secret\n")
	gitIn(t, repo, "add", "-f", ".env")
	gitIn(t, repo, "commit", "-qm", "a file that is hidden")
	ws := prepared(t, repo, func(r *workspace.Request) { r.Hide = workspace.DefaultHide() })
	env := opened(t, ws)
	if got := look(t, ws, env, "status", "--porcelain"); got != "" {
		t.Errorf("before the agent has done anything:\n%s", got)
	}
	write(t, filepath.Join(ws.Path, "a.txt"), "one\n2\n")
	write(t, filepath.Join(ws.Path, "new.txt"), "new\n")
	must(t, os.Remove(filepath.Join(ws.Path, "dir/b.txt")))
	gitIn(t, ws.Path, "add", "-A")
	gitIn(t, ws.Path, "commit", "-qm", "the agent's own")
	if got := look(t, ws, env, "status", "--porcelain"); got != " M a.txt\n D dir/b.txt\n?? new.txt" {
		t.Errorf("the status is\n%s", got)
	}
	if got := look(t, ws, env, "diff", "-U0", "a.txt"); !strings.Contains(got, "-TWO\n+2") {
		t.Errorf("the diff is\n%s", got)
	}
	if got := look(t, ws, env, "log", "-2", "--format=%s"); got != "Uncommitted work before aibox session k3f9\na file that is hidden" {
		t.Errorf("the newest commits are %q", got)
	}
	if got := gitIn(t, ws.Path, "log", "-1", "--format=%s"); got != "the agent's own" {
		t.Errorf("the agent's newest commit is %q", got)
	}
}

// A change that keeps size and modification time is one all the same.
func TestAPersonsGitIsNotDeceivedByTimes(t *testing.T) {
	ws := prepared(t, repository(t))
	file := filepath.Join(ws.Path, "a.txt")
	info, err := os.Stat(file)
	must(t, err)
	write(t, file, "TWO\none\n")
	must(t, os.Chtimes(file, info.ModTime(), info.ModTime()))
	if got := look(t, ws, opened(t, ws), "status", "--porcelain"); got != " M a.txt" {
		t.Errorf("the status is %q", got)
	}
}

func TestNothingOfTheAgentsRunsInAPersonsGit(t *testing.T) {
	for name, set := range map[string]func(t *testing.T, ws *workspace.Workspace, command string){
		"fsmonitor": func(t *testing.T, ws *workspace.Workspace, command string) {
			gitIn(t, ws.Path, "config", "core.fsmonitor", command)
		},
		"filter": func(t *testing.T, ws *workspace.Workspace, command string) {
			gitIn(t, ws.Path, "config", "filter.own.clean", command)
			write(t, ws.Path+"/.gitattributes", "* filter=own\n")
		},
		"filter of the person's settings": func(t *testing.T, ws *workspace.Workspace, _ string) {
			write(t, ws.Path+"/.gitattributes", "* filter=up\n")
		},
		"text conversion of the person's settings": func(t *testing.T, ws *workspace.Workspace, _ string) {
			write(t, ws.Path+"/.gitattributes", "* diff=up\n")
		},
		"submodule": func(t *testing.T, ws *workspace.Workspace, command string) {
			gitIn(t, ws.Path, "-C", "sub", "config", "core.fsmonitor", command)
			write(t, ws.Path+"/.gitmodules", "[submodule \"sub\"]\n\tpath = sub\n\turl = x\n\tignore = none\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			repo := repository(t)
			if name == "submodule" {
				inner := repository(t)
				gitIn(t, repo, "submodule", "--quiet", "add", inner, "sub")
				gitIn(t, repo, "commit", "-qm", "a submodule")
			}
			ws := prepared(t, repo)
			if name == "submodule" { // the agent puts one in its place
				must(t, os.MkdirAll(ws.Path+"/sub", 0o755))
				gitIn(t, ws.Path, "-C", "sub", "init", "-q")
				write(t, ws.Path+"/sub/x", "x\n")
				gitIn(t, ws.Path, "-C", "sub", "add", "-A")
				gitIn(t, ws.Path, "-C", "sub", "commit", "-qm", "x")
			}
			if got := look(t, ws, opened(t, ws), "status", "--porcelain"); got != "" {
				t.Errorf("before the agent has done anything:\n%s", got)
			}
			set(t, ws, "touch "+canary(ws)+"; cat")
			write(t, filepath.Join(ws.Path, "a.txt"), "changed\n")
			env := opened(t, ws)
			everything := func(env []string) bool {
				look(t, ws, env, "status")
				look(t, ws, env, "diff")
				look(t, ws, env, "add", "-A", "--", "a.txt", "dir")
				_, err := os.Stat(canary(ws))
				return err == nil
			}
			if everything(env) {
				t.Error("it ran")
			}
			_ = os.Remove(canary(ws))
			if !everything(nil) {
				t.Error("it would not have run in the agent's repository either")
			}
		})
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

	for _, repo := range []string{unborn, sha256, shallow, filtered} {
		t.Run(filepath.Base(repo), func(t *testing.T) {
			ws := prepared(t, repo)
			env := opened(t, ws)
			if got := look(t, ws, env, "status", "--porcelain"); got != "" {
				t.Errorf("before the agent has done anything:\n%s", got)
			}
			look(t, ws, env, "log", "--stat")
			write(t, filepath.Join(ws.Path, "a.txt"), "changed\n")
			if got := look(t, ws, env, "status", "--porcelain"); got != " M a.txt" {
				t.Errorf("the status is %q", got)
			}
			opened(t, ws)
			if got := look(t, ws, opened(t, ws), "status", "--porcelain"); got != " M a.txt" {
				t.Errorf("opened once more, the status is %q", got)
			}
		})
	}
}
