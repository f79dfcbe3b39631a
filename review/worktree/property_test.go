package worktree_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"aibox/internal/fault"
	"aibox/review/reviewtest"
	"aibox/review/worktree"
	"aibox/workspace"
)

// ground is a user's repository with one commit, a copy of its files for the agent, and a
// store: the results of Prepare that a delivery needs.
type ground struct {
	root, repo, agent string
	ws                *workspace.Workspace
}

// newGround makes the files with fill.
func newGround(t *testing.T, fill func(dir string)) *ground {
	root, err := os.MkdirTemp("", "aibox-worktree-*")
	reviewtest.Must(t, err)
	g := &ground{root: root, repo: filepath.Join(root, "project"), agent: filepath.Join(root, "agent")}
	reviewtest.Must(t, os.Mkdir(g.repo, 0o755))
	fill(g.repo)
	reviewtest.Must(t, exec.CommandContext(t.Context(), "cp", "-aT", g.repo, g.agent).Run())
	reviewtest.GitIn(t, g.repo, "init", "-q", "-b", "main")
	reviewtest.GitIn(t, g.repo, "add", "-A")
	reviewtest.GitIn(t, g.repo, "commit", "-q", "--allow-empty", "-m", "start")
	store := filepath.Join(root, "store.git")
	reviewtest.GitIn(t, root, "init", "-q", "--bare", store)
	reviewtest.Must(t, os.Mkdir(filepath.Join(store, "aibox"), 0o700))
	reviewtest.Must(t, os.WriteFile(filepath.Join(store, "objects/info/alternates"), []byte(filepath.Join(g.repo, ".git/objects")+"\n"), 0o600))
	ids := strings.Split(reviewtest.GitIn(t, g.repo, "rev-parse", "HEAD", "HEAD^{tree}"), "\n")
	g.ws = &workspace.Workspace{Session: "p", Repo: g.repo, GitDir: store, Head: ids[0], BaseTree: ids[1]}
	return g
}

// tree returns the tree that git creates from the files in dir.
func (g *ground) tree(t *testing.T, dir string) string {
	index := []string{"GIT_DIR=" + g.ws.GitDir, "GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + filepath.Join(g.root, "index")}
	reviewtest.Must(t, os.RemoveAll(filepath.Join(g.root, "index")))
	reviewtest.GitWith(t, index, nil, "add", "-A")
	return reviewtest.GitWith(t, index, nil, "write-tree")
}

// merged returns git's own merge of two trees; "" if it conflicts.
func (g *ground) merged(t *testing.T, yours, theirs string, renames bool) string {
	id := map[string]string{}
	for _, tree := range []string{yours, theirs} {
		id[tree] = reviewtest.GitIn(t, g.ws.GitDir, "commit-tree", "-p", g.ws.Head, "-m", "x", tree)
	}
	cmd := exec.CommandContext(t.Context(), "git", "--git-dir", g.ws.GitDir, "-c", fmt.Sprintf("merge.renames=%v", renames),
		"-c", "merge.directoryRenames=false", "merge-tree", "--write-tree", id[yours], id[theirs])
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

// TestWorkingTreeDeliveryMatchesABranch draws trees, the agent's edits and the user's. If
// the user changed nothing, the working tree becomes the agent's. If both made changes, it
// becomes the result of git's own merge. With any conflict, nothing is touched.
func TestWorkingTreeDeliveryMatchesABranch(t *testing.T) {
	t.Parallel()
	outcomes := map[string]int{}
	rapid.Check(t, func(r *rapid.T) {
		g := newGround(t, func(dir string) {
			for range rapid.IntRange(0, 12).Draw(r, "files") {
				reviewtest.Edit(r, dir)
			}
		})
		defer os.RemoveAll(g.root)
		for range rapid.IntRange(1, 8).Draw(r, "agent's edits") {
			reviewtest.Edit(r, g.agent)
		}
		mine := rapid.SampledFrom([]int{0, 0, 1, 2, 4}).Draw(r, "user's edits")
		for range mine {
			reviewtest.Edit(r, g.repo)
		}
		yours, theirs := g.tree(t, g.repo), g.tree(t, g.agent)
		before := reviewtest.Picture(t, g.repo)
		_, err := worktree.ApplyToWorktree(t.Context(), g.ws, g.ws.BaseTree, theirs, nil)
		if left, _ := filepath.Glob(filepath.Join(g.repo, ".aibox-*")); len(left) > 0 {
			r.Fatalf("%q is left", left)
		}
		if err != nil {
			outcomes["conflict"]++
			if yours == g.ws.BaseTree && mine == 0 || fault.KindOf(err) != fault.Conflict {
				r.Fatalf("user's edits %d: %v", mine, err)
			}
			if diff := cmp.Diff(before, reviewtest.Picture(t, g.repo)); diff != "" {
				r.Fatalf("%v, and this was touched:\n%s", err, diff)
			}
			return
		}
		got := g.tree(t, g.repo)
		switch {
		case yours == g.ws.BaseTree:
			outcomes["alone"]++
			if got != theirs {
				r.Fatalf("it becomes %s, not the agent's %s", got, theirs)
			}
		default:
			merges := []string{g.merged(t, yours, theirs, true), g.merged(t, yours, theirs, false)}
			outcomes[fmt.Sprintf("both, git merges: %v", merges[0] != "" || merges[1] != "")]++
			if !slices.Contains(merges, got) && (merges[0] != "" || merges[1] != "") {
				r.Fatalf("it becomes %s, git merges %q; base %s, yours %s, theirs %s", got, merges, g.ws.BaseTree, yours, theirs)
			}
		}
	})
	t.Log(outcomes)
}

// TestSeparateEditsAreMerged draws edits of both sides to the same files, a few lines
// apart, and computes the expected result.
func TestSeparateEditsAreMerged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		const blocks, height = 8, 6
		want := map[string]string{}
		var base, yours, theirs []string
		g := newGround(t, func(dir string) {
			for n := range rapid.IntRange(1, 4).Draw(r, "files") {
				base, yours, theirs = nil, nil, nil
				var both []string
				add := func(mine, hers, result []string) {
					yours, theirs, both = append(yours, mine...), append(theirs, hers...), append(both, result...)
				}
				for block := range blocks {
					var lines []string
					for line := range height {
						lines = append(lines, fmt.Sprintf("%d.%d.%d", n, block, line))
					}
					base = append(base, lines...)
					edited := drawEdit(r, lines)
					switch rapid.SampledFrom([]string{"none", "user", "agent", "same"}).Draw(r, "who") {
					case "user":
						add(edited, lines, edited)
					case "agent":
						add(lines, edited, edited)
					case "same":
						add(edited, edited, edited)
					default:
						add(lines, lines, lines)
					}
				}
				style := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "line ending")
				text := func(lines []string) string { return strings.Join(lines, style) + style }
				name := fmt.Sprintf("%d.txt", n)
				reviewtest.Write(t, filepath.Join(dir, name), text(base))
				reviewtest.Write(t, filepath.Join(dir, "../yours", name), text(yours))
				reviewtest.Write(t, filepath.Join(dir, "../theirs", name), text(theirs))
				want[name] = text(both)
			}
		})
		defer os.RemoveAll(g.root)
		reviewtest.Must(t, exec.CommandContext(t.Context(), "cp", "-aT", filepath.Join(g.root, "yours"), g.repo).Run())
		_, err := worktree.ApplyToWorktree(t.Context(), g.ws, g.ws.BaseTree, g.tree(t, filepath.Join(g.root, "theirs")), nil)
		reviewtest.Must(t, err)
		for name, text := range want {
			if got, err := os.ReadFile(filepath.Join(g.repo, name)); err != nil || string(got) != text {
				r.Fatalf("%s: %s", name, cmp.Diff(text, string(got)))
			}
		}
	})
}

// drawEdit changes lines in the middle of a block, so that the edits of two blocks
// never touch.
func drawEdit(t *rapid.T, lines []string) []string {
	first, last := lines[:2:2], lines[len(lines)-2:]
	fresh := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", ""}), 0, 4).Draw(t, "lines")
	for i := range fresh { // each line is unique, so that edits are unambiguous
		fresh[i] = fmt.Sprintf("%s %s %d", lines[0], fresh[i], i)
	}
	return slices.Concat(first, fresh, last)
}
