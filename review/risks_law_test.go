package review

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"aibox/internal/git"
	"aibox/workspace"
)

// riskyNames are names that rules match, and others, so that files become risky by being
// renamed, replaced by a folder or made executable.
var riskyNames = []string{"a", "b.go", "dir/c", ".envrc", "Makefile", "makefile", ".github/workflows/ci.yml", ".github", "AGENTS.md", "package.json", "-x", ".husky/x", ".husky", "tools/run.sh", "link", "dir", "a/x", "a/.envrc"}

func drawRisky(t *rapid.T) treeFile {
	mode := rapid.SampledFrom([]git.Mode{git.File, git.File, git.File, git.Executable, git.Symlink}).Draw(t, "mode")
	return treeFile{mode, rapid.SampledFrom([]string{
		"a\nb\nc\nd\n", "a\nb\nc\nd\ne\n", "x \u202e y\n", "", "dir/c", "../../etc/passwd", "token = \"ghp_" + "R2D2c3poBB8hanLukeLeiaYodaObiWan77xQ\"\n",
		`{"scripts":{"postinstall":"sh tools/run.sh"}}`, `{"name":"x"}`, "\x7fELF\x00\x00", "a\x00b",
	}).Draw(t, "content")}
}

func TestAcceptAllLeavesOutRiskyFiles(t *testing.T) {
	t.Parallel()
	_ = flag.Set("rapid.nofailfile", "true")
	dir := newOwned(t)
	held := 0
	rapid.Check(t, func(r *rapid.T) {
		base, agent := map[string]treeFile{}, map[string]treeFile{}
		for range rapid.IntRange(0, 6).Draw(r, "files") {
			put(base, rapid.SampledFrom(riskyNames).Draw(r, "name"), drawRisky(r))
		}
		maps.Copy(agent, base)
		for range rapid.IntRange(1, 6).Draw(r, "edits") {
			name := rapid.SampledFrom(riskyNames).Draw(r, "edited")
			if rapid.IntRange(0, 4).Draw(r, "what") == 0 {
				delete(agent, name)
			} else {
				put(agent, name, drawRisky(r))
			}
		}
		cs := changeSetOf(t, dir, base, agent, r.Fatalf)
		if err := Assess(t.Context(), &workspace.Workspace{Repo: dir}, cs); err != nil {
			r.Fatal(err)
		}
		choice := rapid.SampledFrom(everyWayOfTakingAll(t, cs)).Draw(r, "choice")
		s, err := cs.Select(t.Context(), choice)
		if err != nil {
			r.Fatal(err)
		}
		tree, err := cs.TreeOf(t.Context(), s)
		if err != nil {
			r.Fatal(err) // changes that are left out must not block others
		}
		was, got := entriesOf(t, cs, cs.BaseTree), entriesOf(t, cs, tree)
		for i := range cs.Changes {
			c := &cs.Changes[i]
			if !c.Risky() {
				continue
			}
			held++
			for _, path := range []Path{c.Path, c.OldPath} {
				if path != "" && got[path.Raw()] != was[path.Raw()] {
					r.Fatalf("%s is %v in the tree, was %v; risks %v", path, got[path.Raw()], was[path.Raw()], c.Risks)
				}
			}
			if lost := lostFor(c.Path.Raw(), was, got); lost != "" {
				r.Fatalf("%s is gone for %s, which is left out", lost, c.Path)
			}
		}
	})
	if held == 0 {
		t.Error("nothing was ever risky")
	}
}

// everyWayOfTakingAll are choices that name every change without accepting a risk.
func everyWayOfTakingAll(t *testing.T, cs *ChangeSet) []Choice {
	var paths []string
	for _, c := range cs.Changes {
		paths = append(paths, c.Path.Raw())
	}
	var ids []string
	for _, id := range allBlocks(t, cs) {
		ids = append(ids, string(id))
	}
	return []Choice{{All: true}, {Files: paths}, {Hunks: ids}, {All: true, Files: paths, Hunks: ids}}
}

// lostFor returns a file of the tree was that is missing in got, although its replacement,
// path, is left out and nothing else replaces it.
func lostFor(path string, was, got map[string]string) string {
	for old := range was {
		if got[old] != "" {
			continue
		}
		if strings.HasPrefix(old, path+"/") {
			return old
		}
		replaced := func(other string) bool { return strings.HasPrefix(other, old+"/") }
		if replaced(path) && !slices.ContainsFunc(slices.Collect(maps.Keys(got)), replaced) {
			return old
		}
	}
	return ""
}

// entriesOf returns a tree as mode and blob by path.
func entriesOf(t *testing.T, cs *ChangeSet, tree string) map[string]string {
	t.Helper()
	records, err := git.Owned(cs.GitDir).Records(t.Context(), "ls-tree", "-r", "-z", tree)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, record := range records {
		what, path, _ := strings.Cut(record, "\t")
		all[path] = what
	}
	return all
}
