package review

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/internal/git"

	"pgregory.net/rapid"
)

// drawLines draws a file of different lines and an edit of it.
func drawLines(t *rapid.T) (base, agent string) {
	var before, after []string
	for i := range rapid.IntRange(1, 16).Draw(t, "lines") {
		line := fmt.Sprintf("old %d", i)
		before = append(before, line)
		switch rapid.IntRange(0, 4).Draw(t, "edit") {
		case 0: // deleted
		case 1:
			after = append(after, fmt.Sprintf("new %d", i))
		case 2:
			after = append(after, line, fmt.Sprintf("more %d", i))
		default:
			after = append(after, line)
		}
	}
	text := func(lines []string) string {
		text := strings.Join(lines, "\n")
		if len(lines) > 0 && rapid.Bool().Draw(t, "newline") {
			text += "\n"
		}
		return text
	}
	return text(before), text(after)
}

func TestAnySubsetOfLinesCanBeTakenAndThenTheRest(t *testing.T) {
	dir := newOwned(t)
	rapid.Check(t, func(r *rapid.T) {
		base, agent := drawLines(r)
		regular := git.Mode("100644")
		cs := changeSetOf(t, dir, map[string]treeFile{"a": {regular, base}}, map[string]treeFile{"a": {regular, agent}}, r.Fatalf)
		if cs.Empty() {
			return
		}
		var hunks []Hunk
		if err := cs.Files(t.Context(), func(f FileDiff) error { hunks = f.Hunks; return nil }); err != nil {
			r.Fatal(err)
		}
		var some, rest Choice
		var deleted, added []string
		for _, h := range hunks {
			if h.Kind != HunkText {
				return
			}
			var chosen, left []int
			for n, at := range h.Changed() {
				if !rapid.Bool().Draw(r, "taken") {
					left = append(left, n+1)
					continue
				}
				chosen = append(chosen, n+1)
				if line := h.Lines[at]; line.Op == '-' {
					deleted = append(deleted, string(line.Text))
				} else {
					added = append(added, string(line.Text))
				}
			}
			some.Hunks = append(some.Hunks, LineChoices(h.ID, chosen)...)
			rest.Hunks = append(rest.Hunks, LineChoices(h.ID, left)...)
		}
		first, err := cs.Select(t.Context(), some)
		if err != nil {
			r.Fatal(err)
		}
		tree, err := cs.TreeOf(t.Context(), first)
		if err != nil {
			r.Fatalf("%v\n%q\n%q\n%+v", err, base, agent, some)
		}
		got, err := git.Owned(dir).Output(t.Context(), "cat-file", "blob", tree+":a")
		if err != nil {
			r.Fatal(err)
		}
		checkLines(r, base, string(got), deleted, added)

		second, err := cs.Select(t.Context(), rest)
		if err != nil {
			r.Fatal(err)
		}
		both := first.Union(second)
		if !both.Complete(cs) {
			r.Fatalf("%+v and %+v are %+v", first, second, both)
		}
		after, err := cs.TreeAfter(t.Context(), "s", first, tree, second)
		if err != nil || after != cs.Tree {
			r.Fatalf("the rest on top gives %s, %v; want %s", after, err, cs.Tree)
		}
		if n := first.CountBeyond(both); n != 0 {
			r.Fatalf("%d files of a part are beyond the whole", n)
		}
		if n := both.CountBeyond(first); n != 1 && len(rest.Hunks) > 0 {
			r.Fatalf("%d files of the whole are beyond a part", n)
		}
	})
}

// checkLines checks that a file has the lines of the baseline without the deleted ones and
// with the added ones, in their order.
func checkLines(r *rapid.T, base, got string, deleted, added []string) {
	want := linesOf(base)
	for _, line := range deleted {
		i := slices.Index(want, line)
		want = slices.Delete(want, i, i+1)
	}
	twice := slices.ContainsFunc(added, func(line string) bool { return slices.Contains(linesOf(base), line) })
	if !twice { // otherwise the text of a line does not identify it
		ofBase := slices.DeleteFunc(linesOf(got), func(line string) bool { return slices.Contains(added, line) })
		ofAgent := slices.DeleteFunc(linesOf(got), func(line string) bool { return !slices.Contains(added, line) })
		if !slices.Equal(ofBase, want) || !slices.Equal(ofAgent, added) {
			r.Fatalf("%q without %q and with %q is %q", base, deleted, added, got)
		}
	}
	want = append(want, added...)
	slices.Sort(want)
	if all := slices.Sorted(slices.Values(linesOf(got))); !slices.Equal(all, want) {
		r.Fatalf("%q without %q and with %q is %q", base, deleted, added, got)
	}
}

func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

func TestLinesAreNamedByNumbersOfTheirHunk(t *testing.T) {
	if got := LineChoices("ab", []int{1, 2, 3, 5, 8, 9}); !slices.Equal(got, []string{"ab:1-3", "ab:5", "ab:8-9"}) {
		t.Errorf("%v", got)
	}
	regular := git.Mode("100644")
	cs := changeSetOf(t, newOwned(t), map[string]treeFile{"a": {regular, "1\n2\n"}}, map[string]treeFile{"a": {regular, "one\n2\n"}, "new": {regular, "x\n"}}, t.Fatalf)
	ids := map[Path]HunkID{}
	if err := cs.Files(t.Context(), func(f FileDiff) error { ids[f.Change.Path] = f.Hunks[0].ID; return nil }); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		string(ids["a"]) + ":3": "has 2 changed lines", string(ids["a"]) + ":0": "does not name lines", string(ids["a"]) + ":2-1": "does not name lines",
		string(ids["a"]) + ":": "does not name lines", string(ids["new"]) + ":1": "has no single lines", "zz:1": "is not the id",
	} {
		_, err := cs.Select(t.Context(), Choice{Hunks: []string{text}})
		if f, ok := errors.AsType[*fault.Fault](err); !ok || f.Kind != fault.Usage || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	s, err := cs.Select(t.Context(), Choice{Hunks: []string{string(ids["a"][:8]) + ":2"}})
	if err != nil || len(s.Taken) != 1 || len(s.Taken[0].Lines) != 1 || s.Taken[0].Whole {
		t.Errorf("%+v, %v", s, err)
	}
}
