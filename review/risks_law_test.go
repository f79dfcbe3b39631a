package review

import (
	"flag"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/workspace"
)

// riskyNames are names that rules know, beside others, so that files turn into
// risky ones by being renamed, replaced by a folder, made executable.
var riskyNames = []string{"a", "b.go", "dir/c", ".envrc", "Makefile", "makefile", ".github/workflows/ci.yml", ".github", "AGENTS.md", "package.json", "-x", ".husky/x", ".husky", "tools/run.sh", "link"}

func drawRisky(t *rapid.T) treeFile {
	mode := rapid.SampledFrom([]git.Mode{git.File, git.File, git.File, git.Executable, git.Symlink}).Draw(t, "mode")
	return treeFile{mode, rapid.SampledFrom([]string{
		"a\nb\nc\nd\n", "a\nb\nc\nd\ne\n", "x \u202e y\n", "", "dir/c", "../../etc/passwd", "token = \"ghp_" + "R2D2c3poBB8hanLukeLeiaYodaObiWan77xQ\"\n",
		`{"scripts":{"postinstall":"sh tools/run.sh"}}`, `{"name":"x"}`, "\x7fELF\x00\x00", "a\x00b",
	}).Draw(t, "content")}
}

func TestNoAcceptOfEverythingTakesARiskyFile(t *testing.T) {
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
		if fault.KindOf(err) == fault.Conflict {
			return // what is left out stands in the way: nothing is taken
		}
		if err != nil {
			r.Fatal(err)
		}
		was, got := entriesOf(t, cs, cs.BaseTree), entriesOf(t, cs, tree)
		for i := range cs.Changes {
			c := &cs.Changes[i]
			if !c.Risky() {
				continue
			}
			held++
			for _, path := range []Path{c.Path, c.OldPath} {
				if path != "" && got[path.Raw()] != was[path.Raw()] && !takenByAnother(cs, c, path) {
					r.Fatalf("%s is %v in the tree, was %v; risks %v", path, got[path.Raw()], was[path.Raw()], c.Risks)
				}
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

// takenByAnother reports whether a change without risks is about path, too, such as
// the new file in the place that a renamed one left.
func takenByAnother(cs *ChangeSet, but *Change, path Path) bool {
	return slices.ContainsFunc(cs.Changes, func(c Change) bool {
		return c.Path != but.Path && !c.Risky() && (c.Path == path || c.OldPath == path)
	})
}

// entriesOf is a tree as mode and blob by path.
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
