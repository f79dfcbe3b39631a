package scan_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"aibox/review/printer"
	"aibox/review/reviewtest"
	"aibox/review/scan"
	"aibox/workspace"
)

// modules are real repositories that everyone who builds aibox has.
var modules = []string{
	"charm.land/bubbletea/v2", "charm.land/huh/v2", "charm.land/lipgloss/v2", "github.com/coreos/go-iptables", "github.com/creack/pty",
	"github.com/google/go-cmp", "github.com/miekg/dns", "github.com/pelletier/go-toml/v2", "github.com/spf13/cobra", "github.com/spf13/pflag",
	"github.com/vishvananda/netlink", "golang.org/x/sync", "golang.org/x/term", "pgregory.net/rapid",
}

// TestRealRepositoriesMatchGit changes real repositories at random, and compares the list
// with git diff --name-status -M, and the result of git apply with the patch on the base's
// files with the agent's tree.
func TestRealRepositoriesMatchGit(t *testing.T) {
	for _, module := range modules {
		t.Run(module, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			repo := filepath.Join(root, "project")
			copyModule(t, module, repo)
			reviewtest.GitIn(t, repo, "init", "-q", "-b", "main")
			reviewtest.GitIn(t, repo, "config", "gc.auto", "0")
			reviewtest.GitIn(t, repo, "add", "-A")
			reviewtest.GitIn(t, repo, "commit", "-q", "-m", "start")
			ws, err := workspace.Prepare(t.Context(), workspace.Request{Repo: repo, Session: "real", Hide: []string{}, Dirs: reviewtest.DirsIn(root)})
			reviewtest.Must(t, err)
			seed := rand.Uint64()
			m := newMutation(t, ws.Path, seed)
			for round := range 3 {
				for range 12 {
					m.mutate()
				}
				t.Logf("seed %d, round %d: %s", seed, round, strings.Join(m.done, "; "))
				agrees(t, ws, root)
			}
		})
	}
}

// copyModule copies a module out of the cache, where everything is read-only. It omits
// .gitattributes, which would make git convert the files.
func copyModule(t *testing.T, module, to string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	reviewtest.Must(t, err)
	from := strings.TrimSpace(string(out))
	reviewtest.Must(t, filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == ".gitattributes" {
			return err
		}
		name, err := filepath.Rel(from, path)
		reviewtest.Must(t, err)
		data, err := os.ReadFile(path)
		reviewtest.Must(t, err)
		reviewtest.Write(t, filepath.Join(to, name), string(data))
		return nil
	}))
}

// agrees compares the change set with git's view of the same files.
func agrees(t *testing.T, ws *workspace.Workspace, scratch string) {
	t.Helper()
	cs, err := scan.Workspace(t.Context(), ws, scan.Options{})
	reviewtest.Must(t, err)
	if len(cs.Refused) > 0 {
		t.Fatalf("refused: %v", cs.Refused)
	}
	git := func(dir string, stdin []byte, args ...string) string {
		return reviewtest.GitWith(t, []string{"GIT_DIR=" + ws.GitDir, "GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + scratch + "/index"}, stdin, append([]string{"-C", dir}, args...)...)
	}
	git(ws.Path, nil, "read-tree", cs.BaseTree)
	git(ws.Path, nil, "add", "-A")
	if tree := git(ws.Path, nil, "write-tree"); tree != cs.Tree {
		t.Fatalf("tree %s, git says %s:\n%s", cs.Tree, tree, git(ws.Path, nil, "diff", "--stat", cs.Tree, tree))
	}
	var names bytes.Buffer
	reviewtest.Must(t, printer.NameStatusZ(t.Context(), cs, &names))
	want := git(ws.Path, nil, "diff", "--cached", "--name-status", "-M", "-z", cs.BaseTree)
	if got := strings.TrimSuffix(names.String(), "\n"); reviewtest.StripScores(got) != reviewtest.StripScores(want) {
		t.Fatalf("names %q, git says %q", got, want)
	}
	work := filepath.Join(scratch, "applied")
	reviewtest.Must(t, os.RemoveAll(work))
	reviewtest.Must(t, os.Mkdir(work, 0o755))
	git(work, nil, "read-tree", cs.BaseTree)
	git(work, nil, "checkout-index", "-a")
	var patch bytes.Buffer
	reviewtest.Must(t, printer.Patch(t.Context(), cs, &patch))
	if patch.Len() > 0 {
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--whitespace=nowarn", "-")
		cmd.Dir, cmd.Stdin = work, &patch
		cmd.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+scratch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git apply: %v\n%s", err, out)
		}
	}
	git(work, nil, "add", "-A")
	if tree := git(work, nil, "write-tree"); tree != cs.Tree {
		t.Fatalf("the applied patch gives %s, want %s:\n%s", tree, cs.Tree, git(work, nil, "diff", "--stat", cs.Tree, tree))
	}
}

// mutation makes random changes below a folder.
type mutation struct {
	t    *testing.T
	dir  string
	rand *rand.Rand
	done []string // the edits, for a failure's message
}

func newMutation(t *testing.T, dir string, seed uint64) *mutation {
	return &mutation{t: t, dir: dir, rand: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // it must be repeatable
}

// files lists the regular files. Rules for git stay as they are.
func (m *mutation) files() []string {
	var names []string
	reviewtest.Must(m.t, filepath.WalkDir(m.dir, func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && entry.Name() == ".git" {
			return filepath.SkipDir
		}
		if entry.Type().IsRegular() && entry.Name() != ".gitignore" {
			names = append(names, path)
		}
		return err
	}))
	return names
}

func (m *mutation) mutate() {
	files := m.files()
	if len(files) == 0 {
		return
	}
	path := files[m.rand.IntN(len(files))]
	data, err := os.ReadFile(path)
	reviewtest.Must(m.t, err)
	lines := bytes.SplitAfter(data, []byte("\n"))
	at := m.rand.IntN(len(lines))
	other := filepath.Join(filepath.Dir(files[m.rand.IntN(len(files))]), fmt.Sprintf("new-%d.go", m.rand.IntN(1000)))
	const steps = 13
	step := m.rand.IntN(steps)
	m.done = append(m.done, fmt.Sprintf("%d %s", step, strings.TrimPrefix(path, m.dir+"/")))
	put := func(data []byte) { reviewtest.Must(m.t, os.WriteFile(path, data, 0o644)) }
	switch step {
	case 0, 1, 2:
		put(bytes.Join(slices.Insert(lines, at, []byte("a new line\n")), nil))
	case 3:
		put(bytes.Join(slices.Delete(lines, at, min(at+5, len(lines))), nil))
	case 4:
		put(append(data, "\x00\x01binary"...))
	case 5:
		put(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n")))
	case 6:
		put(bytes.TrimRight(data, "\n"))
	case 7:
		reviewtest.Must(m.t, os.Chmod(path, 0o755))
	case 8:
		reviewtest.Must(m.t, os.Remove(path))
	case 9:
		reviewtest.Must(m.t, os.Rename(path, other))
	case 10:
		reviewtest.Must(m.t, os.Rename(path, other))
		reviewtest.Must(m.t, os.WriteFile(other, append(data, "and a line\n"...), 0o644))
	case 11:
		reviewtest.Must(m.t, os.WriteFile(other, []byte(strings.Repeat("new file\n", at)), 0o644))
	case 12:
		reviewtest.Must(m.t, os.Remove(path))
		reviewtest.Must(m.t, os.Symlink("target of a link", path))
	}
}
