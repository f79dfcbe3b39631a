package review_test

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
	must(b.t, cs.NameStatus(b.t.Context(), &out))
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
