// Package reviewtest makes repositories and workspaces for the tests of review and the packages below it.
package reviewtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aibox/internal/paths"
	"aibox/review"
	"aibox/review/printer"
	"aibox/review/scan"
	"aibox/workspace"
)

// Fixture is a repository of the user, and a workspace made from it.
type Fixture struct {
	T         testing.TB
	Repo      string
	Home      string
	Workspace *workspace.Workspace
}

func GitIn(t testing.TB, dir string, args ...string) string {
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

// Settle writes the settings of Ann's repository: her name, and no maintenance in the
// background. Writing the file saves a git process for each repository, which is seconds in
// total.
func Settle(t testing.TB, repo string) {
	t.Helper()
	config, err := os.OpenFile(filepath.Join(repo, ".git/config"), os.O_WRONLY|os.O_APPEND, 0)
	Must(t, err)
	_, err = config.WriteString("[gc]\n\tauto = 0\n[user]\n\tname = Ann\n\temail = ann@example.org\n")
	Must(t, errors.Join(err, config.Close()))
}

func Write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func DirsIn(home string) paths.Dirs {
	return paths.Dirs{
		Home: home, Config: home + "/.config/aibox", State: home + "/.local/state/aibox",
		Data: home + "/.local/share/aibox", Cache: home + "/.cache/aibox", Workspace: home + "/agent_workspace",
	}
}

// NewRepository creates a repository with files, all committed.
func NewRepository(t testing.TB, files map[string]string) *Fixture {
	t.Helper()
	b := &Fixture{T: t, Repo: filepath.Join(t.TempDir(), "project"), Home: t.TempDir()}
	CommitIn(t, b.Repo, files)
	return b
}

// CommitIn creates a repository at a path, with files, all committed.
func CommitIn(t testing.TB, repo string, files map[string]string) {
	t.Helper()
	Must(t, os.Mkdir(repo, 0o755))
	GitIn(t, repo, "init", "-q", "-b", "main")
	Settle(t, repo)
	for name, content := range files {
		Write(t, filepath.Join(repo, name), content)
	}
	GitIn(t, repo, "add", "-A")
	GitIn(t, repo, "commit", "-q", "--allow-empty", "-m", "start")
}

// ChangeSet returns the changes of an agent that turned the files before into the files
// after.
func ChangeSet(t testing.TB, before, after map[string]string) *review.ChangeSet {
	t.Helper()
	b := NewRepository(t, before).Prepare()
	for name := range before {
		if _, ok := after[name]; !ok {
			Must(t, os.Remove(b.Path(name)))
		}
	}
	for name, content := range after {
		b.Write(name, content)
	}
	return b.Compute()
}

func (b *Fixture) Prepare(change ...func(*workspace.Request)) *Fixture {
	b.T.Helper()
	req := workspace.Request{Repo: b.Repo, Session: "k3f9", Dirs: DirsIn(b.Home)}
	for _, f := range change {
		f(&req)
	}
	ws, err := workspace.Prepare(b.T.Context(), req)
	Must(b.T, err)
	// Review gets the record, so it must survive JSON.
	data, err := json.Marshal(ws)
	Must(b.T, err)
	b.Workspace = &workspace.Workspace{}
	Must(b.T, json.Unmarshal(data, b.Workspace))
	return b
}

func (b *Fixture) Write(name, content string) {
	b.T.Helper()
	Write(b.T, filepath.Join(b.Workspace.Path, name), content)
}

func (b *Fixture) Path(name string) string { return filepath.Join(b.Workspace.Path, name) }

func (b *Fixture) Compute() *review.ChangeSet {
	b.T.Helper()
	cs, err := scan.Workspace(b.T.Context(), b.Workspace, scan.Options{})
	Must(b.T, err)
	return cs
}

func (b *Fixture) NameStatus(cs *review.ChangeSet) string {
	var out strings.Builder
	Must(b.T, printer.NameStatus(b.T.Context(), cs, &out))
	return out.String()
}

func (b *Fixture) Want(cs *review.ChangeSet, lines ...string) {
	b.T.Helper()
	got := strings.Split(strings.TrimSuffix(b.NameStatus(cs), "\n"), "\n")
	if got[0] == "" {
		got = nil
	}
	if diff := cmp.Diff(lines, got); diff != "" {
		b.T.Errorf("changes (-want +got):\n%s", diff)
	}
}

func (b *Fixture) Refused(cs *review.ChangeSet, path, why string) {
	b.T.Helper()
	for _, r := range cs.Refused {
		if string(r.Path) == path && strings.Contains(r.Reason, why) {
			return
		}
	}
	b.T.Errorf("%q is not refused with %q: %v", path, why, cs.Refused)
}

// AppliesTo checks that the patch turns the base into the tree.
func (b *Fixture) AppliesTo(cs *review.ChangeSet) {
	b.T.Helper()
	var patch bytes.Buffer
	Must(b.T, printer.Patch(b.T.Context(), cs, &patch))
	work := b.T.TempDir()
	run := func(stdin []byte, args ...string) string {
		b.T.Helper()
		cmd := exec.CommandContext(b.T.Context(), "git", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GIT_DIR="+b.Workspace.GitDir, "GIT_INDEX_FILE="+work+"/index", "GIT_WORK_TREE="+work)
		cmd.Stdin = bytes.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.T.Fatalf("git %v: %v\n%s\n%s", args, err, out, stdin)
		}
		return strings.TrimSpace(string(out))
	}
	run(nil, "read-tree", cs.BaseTree)
	if patch.Len() > 0 {
		run(patch.Bytes(), "apply", "--cached", "--whitespace=nowarn", "-")
	}
	if tree := run(nil, "write-tree"); tree != cs.Tree {
		b.T.Errorf("the applied patch gives tree %s, want %s\n%s", tree, cs.Tree, patch.String())
	}
}
