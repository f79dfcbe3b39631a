package review

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"aibox/internal/fault"
	"aibox/internal/git"
	"aibox/internal/slashpath"
)

// treeFile is a file of a tree made for a test.
type treeFile struct {
	mode    git.Mode
	content string
}

// newOwned makes a bare repository.
func newOwned(t testing.TB) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "owned.git")
	if out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "--bare", dir).CombinedOutput(); err != nil {
		t.Fatalf("git init: %v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(dir, "aibox"), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// changeSetOf is the change set between two trees. fail ends the test.
func changeSetOf(t testing.TB, dir string, base, agent map[string]treeFile, fail func(string, ...any)) *ChangeSet {
	t.Helper()
	repo := git.Owned(dir)
	im := repo.Import(t.Context())
	who := git.Signature{Name: "a", Email: "a@example.org", When: time.Unix(1, 0)}
	var err error
	for i, tree := range []map[string]treeFile{base, agent} {
		commit := git.Commit{Ref: fmt.Sprintf("refs/aibox/s/%d", i), Who: who, Tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904"}
		for _, path := range slices.Sorted(maps.Keys(tree)) {
			file := tree[path]
			err = errors.Join(err, im.Blob(int64(len(file.content)), strings.NewReader(file.content)))
			commit.Put = append(commit.Put, git.Entry{Mode: file.mode, ID: git.SHA1.BlobID([]byte(file.content)), Path: path})
		}
		err = errors.Join(err, im.Commit(commit))
	}
	if err := im.End(err); err != nil {
		fail("importing: %v", err)
	}
	ids, err := repo.Line(t.Context(), "rev-parse", "refs/aibox/s/0^{tree}", "refs/aibox/s/1^{tree}")
	if err != nil {
		fail("%v", err)
	}
	cs := &ChangeSet{Session: "s", GitDir: dir}
	cs.BaseTree, cs.Tree, _ = strings.Cut(ids, "\n")
	if err := cs.Describe(t.Context()); err != nil {
		fail("%v", err)
	}
	return cs
}

// lawNames are few, so that paths collide and folders replace files.
var lawNames = []string{"a", "b", "a/x", "a/x/deep", "b/y", "n\nl", "\xfe\"q", "c", "d", "dir/e", "dir/f", "-z"}

func drawFile(t *rapid.T) treeFile {
	lines := rapid.SliceOfN(rapid.SampledFrom([]string{"one", "two", "three\r", "", "}", "\t x", "@@ -1 +1 @@", "-- x", "\\ No newline"}), 0, 14)
	switch rapid.IntRange(0, 9).Draw(t, "file") {
	case 0:
		return treeFile{git.Symlink, rapid.SampledFrom([]string{"a", "../out", "/etc/passwd", "n\nl"}).Draw(t, "target")}
	case 1:
		return treeFile{git.File, "\x00" + rapid.SampledFrom([]string{"b1", "b2", "b3"}).Draw(t, "binary")}
	case 2:
		return treeFile{git.File, ""}
	}
	content := strings.Join(lines.Draw(t, "lines"), "\n")
	if rapid.Bool().Draw(t, "newline") {
		content += "\n"
	}
	return treeFile{rapid.SampledFrom([]git.Mode{git.File, git.File, git.Executable}).Draw(t, "mode"), content}
}

// put sets a path and removes everything that conflicts with it.
func put(tree map[string]treeFile, path string, file treeFile) {
	for other := range tree {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			delete(tree, other)
		}
	}
	tree[path] = file
}

// drawEdit changes a tree.
func drawEdit(t *rapid.T, tree map[string]treeFile) {
	path := rapid.SampledFrom(lawNames).Draw(t, "path")
	file, there := tree[path]
	switch rapid.IntRange(0, 5).Draw(t, "edit") {
	case 0:
		put(tree, path, drawFile(t))
	case 1:
		delete(tree, path)
	case 2:
		if there {
			delete(tree, path)
			put(tree, rapid.SampledFrom(lawNames).Draw(t, "to"), file)
		}
	case 3:
		if file.mode == git.File {
			file.mode = git.Executable
			tree[path] = file
		}
	default:
		if there && file.mode != git.Symlink {
			lines := strings.SplitAfter(file.content, "\n")
			at := rapid.IntRange(0, len(lines)).Draw(t, "at")
			cut := rapid.IntRange(0, min(2, len(lines)-at)).Draw(t, "cut")
			lines = slices.Replace(lines, at, at+cut, rapid.SliceOfN(rapid.SampledFrom([]string{"new\n", "one\n", "\n", "end"}), 0, 2).Draw(t, "in")...)
			file.content = strings.Join(lines, "")
			tree[path] = file
		}
	}
}

// drawChanges makes a repository's tree and an agent's.
func drawChanges(t *rapid.T) (base, agent map[string]treeFile) {
	base = map[string]treeFile{}
	for range rapid.IntRange(0, 8).Draw(t, "files") {
		put(base, rapid.SampledFrom(lawNames).Draw(t, "name"), drawFile(t))
	}
	agent = maps.Clone(base)
	for range rapid.IntRange(1, 10).Draw(t, "edits") {
		drawEdit(t, agent)
	}
	return base, agent
}

// allBlocks lists the smallest hunks.
func allBlocks(t testing.TB, cs *ChangeSet) (ids []HunkID) {
	t.Helper()
	seen := map[HunkID]bool{}
	err := cs.Files(t.Context(), func(f FileDiff) error {
		if len(f.Hunks) == 0 {
			return fmt.Errorf("%s has no hunk", f.Change.Path)
		}
		for _, h := range f.Hunks {
			for _, part := range h.Split() {
				if seen[part.ID] {
					return fmt.Errorf("two hunks of %s are called %s", f.Change.Path, part.ID)
				}
				seen[part.ID] = true
				ids = append(ids, part.ID)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

func texts(ids []HunkID) (all []string) {
	for _, id := range ids {
		all = append(all, string(id))
	}
	return all
}

// TestTheLawsOfAccept tries them on random trees and edits: accepting everything gives the
// agent's tree, accepting nothing the baseline, and accepting a part and then the rest
// gives everything in any order. Only a set in which a path is both file and folder is
// refused.
func TestTheLawsOfAccept(t *testing.T) {
	dir := newOwned(t)
	fewer(t, 30)
	rapid.Check(t, func(r *rapid.T) {
		base, agent := drawChanges(r)
		cs := changeSetOf(t, dir, base, agent, r.Fatalf)
		if cs.Empty() {
			return
		}
		choose := func(choice Choice) *Selection {
			s, err := cs.Select(t.Context(), choice)
			if err != nil {
				r.Fatalf("choosing %v: %v", choice, err)
			}
			return s
		}
		tree := func(s *Selection) string {
			id, err := cs.TreeOf(t.Context(), s)
			if err != nil {
				r.Fatalf("%v", err)
			}
			return id
		}
		if got := tree(choose(Choice{})); got != cs.BaseTree {
			r.Fatalf("nothing gives %s", got)
		}
		all := choose(Choice{All: true})
		if got := tree(all); got != cs.Tree || !all.Complete(cs) {
			r.Fatalf("everything gives %s, want %s", got, cs.Tree)
		}
		ids := allBlocks(t, cs)
		var some, rest []HunkID
		for _, id := range ids {
			if rapid.Bool().Draw(r, "take") {
				some = append(some, id)
			} else {
				rest = append(rest, id)
			}
		}
		first, second := choose(Choice{Hunks: texts(some)}), choose(Choice{Hunks: texts(rest)})
		if other := choose(Choice{All: true, Except: texts(rest)}); fmt.Sprint(other.Taken) != fmt.Sprint(first.Taken) {
			r.Fatalf("all but the rest is %v, the others are %v", other.Taken, first.Taken)
		}
		sum := first.Union(second)
		if back := second.Union(first); fmt.Sprint(back.Taken) != fmt.Sprint(sum.Taken) || !sum.Complete(cs) {
			r.Fatalf("one way %v, the other way %v", sum.Taken, back.Taken)
		}
		// Accepting by hunks must give the agent's tree, too.
		edit, err := newTreeEdit(t.Context(), cs, cs.inParts(t))
		if err != nil {
			r.Fatalf("%v", err)
		}
		if got, _, err := edit.write(t.Context()); err != nil || got != cs.Tree {
			r.Fatalf("all hunks give %s (%v), want %s", got, err, cs.Tree)
		}
		want := expected(t, cs, base, agent, some)
		got, err := cs.TreeOf(t.Context(), first)
		if clash := clashIn(want); clash != "" {
			if f, ok := errors.AsType[*fault.Fault](err); !ok || f.Kind != fault.Conflict {
				r.Fatalf("%s is a file and a folder, and the tree is %s (%v)", clash, got, err)
			}
			return
		}
		if err != nil {
			r.Fatalf("%v", err)
		}
		if want := changeSetOf(t, dir, base, want, r.Fatalf).Tree; got != want {
			r.Fatalf("the part gives %s, want %s", got, want)
		}
	})
}

// fewer bounds how often the properties of this test are tried, unless the command
// line says so.
func fewer(t *testing.T, checks int) {
	t.Helper()
	number := flag.Lookup("rapid.checks")
	if was := number.Value.String(); was == number.DefValue {
		t.Cleanup(func() { _ = number.Value.Set(was) })
		_ = number.Value.Set(strconv.Itoa(checks))
	}
}

// inParts is a selection of everything, by hunks.
func (cs *ChangeSet) inParts(t testing.TB) *Selection {
	t.Helper()
	s := &Selection{}
	err := cs.Files(t.Context(), func(f FileDiff) error {
		taken := Taken{Path: f.Change.Path, OldPath: f.Change.OldPath}
		for _, h := range f.Hunks {
			for _, part := range h.Split() {
				taken.Blocks = append(taken.Blocks, part.ID)
			}
		}
		s.Taken = append(s.Taken, taken)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(s.Taken, func(a, b Taken) int { return strings.Compare(a.Path.Raw(), b.Path.Raw()) })
	return s
}

// expected builds the tree of some hunks in a simple way.
func expected(t testing.TB, cs *ChangeSet, base, agent map[string]treeFile, some []HunkID) map[string]treeFile {
	t.Helper()
	tree := maps.Clone(base)
	err := cs.Files(t.Context(), func(f FileDiff) error {
		old := cmp.Or(f.Change.OldPath, f.Change.Path).Raw()
		path, file, there := old, base[old], false
		lines := strings.SplitAfter(file.content, "\n")
		for _, h := range slices.Backward(f.Hunks) {
			for _, part := range slices.Backward(h.Split()) {
				if !slices.Contains(some, part.ID) {
					continue
				}
				there = true
				switch part.Kind {
				case HunkAdded, HunkType:
					file = agent[f.Change.Path.Raw()]
				case HunkDeleted:
					path = ""
				case HunkContent:
					file.content = agent[f.Change.Path.Raw()].content
				case HunkMode:
					file.mode = agent[f.Change.Path.Raw()].mode
				case HunkRenamed:
					path = f.Change.Path.Raw()
				case HunkText:
					lines = replaced(lines, part)
					file.content = strings.Join(lines, "")
				}
			}
		}
		if there {
			delete(tree, old)
			if path != "" {
				tree[path] = file
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// replaced puts one run of changed lines into lines.
func replaced(lines []string, part Hunk) []string {
	at := part.OldStart
	if part.OldLines > 0 {
		at--
	}
	var in []string
	gone := 0
	for _, line := range part.Lines {
		switch {
		case line.Op == ' ' && gone == 0 && in == nil:
			at++
		case line.Op == '-':
			gone++
		case line.Op == '+' && line.NoNewline:
			in = append(in, string(line.Text))
		case line.Op == '+':
			in = append(in, string(line.Text)+"\n")
		}
	}
	return slices.Replace(slices.Clone(lines), at, at+gone, in...)
}

// clashIn returns a path that is both file and folder.
func clashIn(tree map[string]treeFile) string {
	for path := range tree {
		for dir := slashpath.Parent(path); dir != ""; dir = slashpath.Parent(dir) {
			if _, ok := tree[dir]; ok {
				return dir
			}
		}
	}
	return ""
}
