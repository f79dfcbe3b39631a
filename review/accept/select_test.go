package accept_test

import (
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/reviewtest"
)

// took lists the files in a selection: each path, with the numbers of taken and of all
// blocks if it is not taken as a whole.
func took(s *review.Selection) []string {
	names := []string{}
	for _, taken := range s.Taken {
		name := taken.Path.String()
		if !taken.Whole {
			name += ":" + strings.Repeat("+", len(taken.Blocks)) + strings.Repeat("-", taken.Of-len(taken.Blocks))
		}
		names = append(names, name)
	}
	return names
}

func TestASelectionDeliversExactlyItsFiles(t *testing.T) {
	b, cs := reviewtest.Mixed(t)
	a := b.Hunks(cs, "src/a.go")
	if len(a) != 2 || len(a[0].Split()) != 2 {
		t.Fatalf("src/a.go has the hunks %+v", a)
	}
	moved := b.Hunks(cs, "docs/new.md")
	id := func(h review.Hunk) string { return string(h.ID) }
	everything := []string{"bin", "dir", "dir/in", "docs/new.md", `esc\x1b[31m`, "gone", "run.sh", "src/[x].go", "src/a.go", "src/deep/b.go"}
	without := func(name string, instead ...string) []string {
		i := slices.Index(everything, name)
		return slices.Replace(slices.Clone(everything), i, i+1, instead...)
	}
	for _, c := range []struct {
		name   string
		choice review.Choice
		want   []string
		left   string
	}{
		{"nothing", review.Choice{}, []string{}, ""},
		{"everything but what is risky", review.Choice{All: true}, everything, "Makefile"},
		{"everything", review.Choice{All: true, Risky: []string{"Makefile"}}, append([]string{"Makefile"}, everything...), ""},
		{"the top", review.Choice{Files: []string{"."}}, everything, "Makefile"},
		{"the top with a slash", review.Choice{Files: []string{"./"}}, everything, "Makefile"},
		{"a risky file by name", review.Choice{Files: []string{"Makefile"}}, []string{}, "Makefile"},
		{"a risky hunk", review.Choice{Hunks: []string{id(b.Hunks(cs, "Makefile")[0])}}, []string{}, "Makefile"},
		{"a risky file that is accepted, but not chosen", review.Choice{Files: []string{"bin"}, Risky: []string{"Makefile"}}, []string{"bin"}, ""},
		{"a file", review.Choice{Files: []string{"./src/a.go"}}, []string{"src/a.go"}, ""},
		{"a file by its old name", review.Choice{Files: []string{"docs/old.md"}}, []string{"docs/new.md"}, ""},
		{"a file as it is printed", review.Choice{Files: []string{`esc\x1b[31m`}}, []string{`esc\x1b[31m`}, ""},
		{"a name that is a glob", review.Choice{Files: []string{"src/[x].go"}}, []string{"src/[x].go"}, ""},
		{"a path that is a file and a folder", review.Choice{Files: []string{"dir"}}, []string{"dir"}, ""},
		{"a folder", review.Choice{Files: []string{"src/"}}, []string{"src/[x].go", "src/a.go", "src/deep/b.go"}, ""},
		{"the top", review.Choice{Files: []string{"."}}, everything, "Makefile"},
		{"a glob of a name", review.Choice{Files: []string{"*.go"}}, []string{"src/[x].go", "src/a.go", "src/deep/b.go"}, ""},
		{"a glob of a path", review.Choice{Files: []string{"src/*.go"}}, []string{"src/[x].go", "src/a.go"}, ""},
		{"a glob over folders", review.Choice{Files: []string{"src/**/b.go", "**/in"}}, []string{"dir/in", "src/deep/b.go"}, ""},
		{"two ways to one file", review.Choice{Files: []string{"bin", "b*n"}, Hunks: []string{id(a[0])}}, []string{"bin", "src/a.go:++-"}, ""},
		{"a hunk", review.Choice{Hunks: []string{id(a[1])}}, []string{"src/a.go:+--"}, ""},
		{"the beginning of an id", review.Choice{Hunks: []string{strings.ToUpper(id(a[1])[:12])}}, []string{"src/a.go:+--"}, ""},
		{"a part of a hunk", review.Choice{Hunks: []string{id(a[0].Split()[1])}}, []string{"src/a.go:+--"}, ""},
		{"both parts and the other hunk", review.Choice{Hunks: []string{id(a[0].Split()[1]), id(a[0].Split()[0]), id(a[1])}}, []string{"src/a.go"}, ""},
		{"a move without its text", review.Choice{Hunks: []string{id(moved[0])}}, []string{"docs/new.md:+-"}, ""},
		{"all but one hunk", review.Choice{All: true, Except: []string{id(a[0])}}, without("src/a.go", "src/a.go:+--"), "Makefile"},
		{"all but a file", review.Choice{All: true, Except: []string{id(b.Hunks(cs, "gone")[0])}}, without("gone"), "Makefile"},
		{"a hunk but a part of it", review.Choice{Hunks: []string{id(a[0])}, Except: []string{id(a[0].Split()[0])}}, []string{"src/a.go:+--"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := cs.Select(t.Context(), c.choice)
			reviewtest.Must(t, err)
			if diff := cmp.Diff(c.want, took(s)); diff != "" {
				t.Errorf("taken (-want +got):\n%s", diff)
			}
			left := ""
			for _, l := range s.Left {
				left += l.Path.String() + strings.Repeat("!", len(l.Risks)-1)
			}
			if left != c.left {
				t.Errorf("left out: %q, want %q", left, c.left)
			}
			data, err := json.Marshal(s)
			reviewtest.Must(t, err)
			var again review.Selection
			reviewtest.Must(t, json.Unmarshal(data, &again))
			if diff := cmp.Diff(*s, again); diff != "" {
				t.Errorf("JSON loses (-was +is):\n%s", diff)
			}
		})
	}
}

func TestASelectionThatMatchesNothingIsAnError(t *testing.T) {
	_, cs := reviewtest.Mixed(t)
	for _, c := range []struct {
		choice review.Choice
		want   string
	}{
		{review.Choice{Files: []string{"nope\x1b"}}, `no changed file is called nope\x1b`},
		{review.Choice{Files: []string{"src/*.rs"}}, "no changed file is called src/*.rs"},
		{review.Choice{Files: []string{"[a"}}, "neither a path nor a glob"},
		{review.Choice{Files: []string{""}}, "neither a path nor a glob"},
		{review.Choice{Files: []string{"/"}}, "neither a path nor a glob"},
		{review.Choice{All: true, Risky: []string{"nope"}}, "nothing was changed at nope"},
		{review.Choice{Hunks: []string{strings.Repeat("0", 32)}}, "no hunk has the id"},
		{review.Choice{Hunks: []string{"not hex\x1b"}}, `not hex\x1b is not the id of a hunk`},
		{review.Choice{All: true, Except: []string{""}}, "is not the id of a hunk"},
		{review.Choice{Hunks: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d", "e", "f"}}, " "},
	} {
		_, err := cs.Select(t.Context(), c.choice)
		if f, ok := errors.AsType[*fault.Fault](err); !ok || f.Kind != fault.Usage || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v gives %v, want %q", c.choice, err, c.want)
		}
	}
}

func TestFilesThatFitNoTreeAreReported(t *testing.T) {
	b, cs := reviewtest.Mixed(t)
	_, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{Files: []string{"dir/in"}}})
	f, ok := errors.AsType[*fault.Fault](err)
	if !ok || f.Kind != fault.Conflict || !strings.Contains(err.Error(), "dir/in can be taken only together with the deletion of dir:") {
		t.Fatalf("accepting dir/in without the deletion of dir gives %v", err)
	}
	if got := reviewtest.GitIn(t, b.Repo, "branch", "--list", "aibox/*"); got != "" {
		t.Errorf("there is a branch %s", got)
	}
	both, err := cs.Select(t.Context(), review.Choice{Files: []string{"dir/in", "dir"}})
	reviewtest.Must(t, err)
	if _, err := cs.TreeOf(t.Context(), both); err != nil {
		t.Errorf("both together: %v", err)
	}
	// A choice from a different change set is detected.
	b.Write("dir/in", "something else\n")
	_, err = b.Compute().TreeOf(t.Context(), both)
	if f, ok := errors.AsType[*fault.Fault](err); !ok || f.Kind != fault.Conflict || !strings.Contains(err.Error(), "dir/in changed after it was selected") {
		t.Errorf("an old choice gives %v", err)
	}
}

// TestHunkIDsAreStableAcrossRecomputing computes the changes again after the agent
// changed lines nearby, so that git shows both as one hunk.
func TestHunkIDsAreStableAcrossRecomputing(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"f": reviewtest.Numbered()}).Prepare()
	b.Write("f", reviewtest.Numbered("h\n", "H\n"))
	first := b.Hunks(b.Compute(), "f")[0]
	b.Write("f", reviewtest.Numbered("h\n", "H\n", "j\n", "J\n", "a\n", ""))
	cs := b.Compute()
	hunks := b.Hunks(cs, "f")
	if len(hunks) != 1 || len(hunks[0].Split()) != 3 {
		t.Fatalf("the hunks are %+v", hunks)
	}
	s, err := cs.Select(t.Context(), review.Choice{Hunks: []string{string(first.ID)}})
	reviewtest.Must(t, err)
	tree, err := cs.TreeOf(t.Context(), s)
	reviewtest.Must(t, err)
	if got := reviewtest.GitIn(t, b.Workspace.GitDir, "show", tree+":f") + "\n"; got != reviewtest.Numbered("h\n", "H\n") {
		t.Errorf("f is %q", got)
	}
}

// TestSelectedHunksKeepLineEndingsAndModes takes parts of files with unusual line endings.
func TestSelectedHunksKeepLineEndingsAndModes(t *testing.T) {
	crlf := strings.ReplaceAll(reviewtest.Numbered(), "\n", "\r\n")
	b := reviewtest.NewRepository(t, map[string]string{"crlf": crlf, "open": strings.TrimSuffix(reviewtest.Numbered(), "\n"), "empty": "", "script": reviewtest.Numbered()}).Prepare()
	b.Write("crlf", strings.NewReplacer("b\r\n", "B\n", "s\r\n", "S\r\n").Replace(crlf))
	b.Write("open", reviewtest.Numbered("b\n", "B\n"))
	b.Write("empty", "not any more")
	b.Write("script", reviewtest.Numbered("b\n", "B\n"))
	reviewtest.Must(t, os.Chmod(b.Path("script"), 0o755))
	cs := b.Compute()
	a := &accepting{Fixture: b}
	script := b.Hunks(cs, "script")
	if script[0].Kind != review.HunkMode || len(script) != 2 {
		t.Fatalf("script has the hunks %+v", script)
	}
	a.accept(cs, review.Choice{Hunks: []string{
		a.hunk(cs, "crlf", "B"), a.hunk(cs, "open", "B"), string(script[1].ID), a.hunk(cs, "empty", "not any more"),
	}})
	if got := reviewtest.GitIn(t, b.Repo, "show", "aibox/k3f9:crlf") + "\n"; got != strings.Replace(crlf, "b\r\n", "B\n", 1) {
		t.Errorf("crlf is %q", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "show", "aibox/k3f9:open"); got != strings.TrimSuffix(reviewtest.Numbered("b\n", "B\n"), "\n") {
		t.Errorf("open is %q", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "ls-tree", "aibox/k3f9", "script"); !strings.HasPrefix(got, "100644 ") {
		t.Errorf("script is %q", got)
	}
	a.accept(cs, review.Choice{All: true})
	if got := reviewtest.GitIn(t, b.Repo, "rev-parse", "aibox/k3f9^{tree}"); got != cs.Tree {
		t.Errorf("all of it is %s, want %s", got, cs.Tree)
	}
}

// TestAFileWithTooManyLinesIsOneHunk bounds the memory that one file takes.
func TestAFileWithTooManyLinesIsOneHunk(t *testing.T) {
	many := strings.Repeat("x\n", 510_000)
	b := reviewtest.NewRepository(t, map[string]string{"changed": many, "gone": many, "small": "s\n"}).Prepare()
	b.Write("changed", strings.ReplaceAll(many, "x", "y"))
	b.Write("added", strings.ReplaceAll(many, "x", "z"))
	b.Write("small", "t\n")
	reviewtest.Must(t, os.Remove(b.Path("gone")))
	cs := b.Compute()
	kinds := map[review.Path]review.HunkKind{}
	reviewtest.Must(t, cs.Files(t.Context(), func(f review.FileDiff) error {
		h := f.Hunks[0]
		kinds[h.Path] = h.Kind
		if len(f.Hunks) != 1 || (len(h.Lines) > 0) != (h.Path == "small") {
			t.Errorf("%s has %d hunks, the first has %d lines", h.Path, len(f.Hunks), len(h.Lines))
		}
		return nil
	}))
	want := map[review.Path]review.HunkKind{
		"changed": review.HunkContent, "added": review.HunkAdded, "gone": review.HunkDeleted, "small": review.HunkText,
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	a := &accepting{Fixture: b}
	a.accept(cs, review.Choice{Hunks: []string{string(b.Hunks(cs, "changed")[0].ID)}})
	if got := reviewtest.GitIn(t, b.Repo, "diff", "--name-only", "main", "aibox/k3f9"); got != "changed" {
		t.Errorf("taken is %q", got)
	}
}

// TestFilesByPathMatchThoseOfAllPaths asks for files by name, among them renames,
// and a file whose name is also that of a folder.
func TestFilesByPathMatchThoseOfAllPaths(t *testing.T) {
	files := map[string]string{"top": "a file\n", "a": "same\n"}
	for i := range 60 {
		files["d/old"+strings.Repeat("x", i)] = reviewtest.Numbered("t\n", strings.Repeat("u", i)+"\n")
	}
	b := reviewtest.NewRepository(t, files).Prepare()
	reviewtest.Must(t, os.Remove(b.Path("top")))
	b.Write("top/in", "in\n")
	b.Write("a", "other\n")
	for i := range 60 {
		from := "d/old" + strings.Repeat("x", i)
		if i%2 == 0 {
			reviewtest.Must(t, os.Rename(b.Path(from), b.Path("d/new"+strings.Repeat("x", i))))
		} else {
			b.Write(from, "changed\n")
		}
	}
	cs := b.Compute()
	all := map[review.Path]string{}
	var paths []review.Path
	reviewtest.Must(t, cs.Files(t.Context(), func(f review.FileDiff) error {
		data, err := json.Marshal(f.Hunks)
		all[f.Change.Path] = string(data)
		paths = append(paths, f.Change.Path)
		return err
	}))
	if len(paths) != len(cs.Changes) {
		t.Fatalf("%d files of %d", len(paths), len(cs.Changes))
	}
	for _, some := range [][]review.Path{{"top"}, {"top/in", "a"}, paths[10:20], paths} {
		var got []review.Path
		reviewtest.Must(t, cs.Files(t.Context(), func(f review.FileDiff) error {
			data, err := json.Marshal(f.Hunks)
			if string(data) != all[f.Change.Path] {
				t.Errorf("%s has other hunks:\n%s\n%s", f.Change.Path, data, all[f.Change.Path])
			}
			got = append(got, f.Change.Path)
			return err
		}, some...))
		slices.Sort(got)
		want := slices.Sorted(slices.Values(some))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
	}
	err := cs.Files(t.Context(), func(review.FileDiff) error { return nil }, "nope")
	if f, ok := errors.AsType[*fault.Fault](err); !ok || f.Kind != fault.Usage {
		t.Errorf("a path without a change gives %v", err)
	}
	stop := errors.New("enough")
	if err := cs.Files(t.Context(), func(review.FileDiff) error { return stop }); err != stop { //nolint:errorlint // as it is
		t.Errorf("an error of visit comes back as %v", err)
	}
}

func TestTheSameLinesAtTwoPlacesAreTwoHunks(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"f": reviewtest.Numbered()}).Prepare()
	b.Write("f", reviewtest.Numbered("c\n", "c\nNEW\n", "q\n", "q\nNEW\n"))
	cs := b.Compute()
	hunks := b.Hunks(cs, "f")
	if len(hunks) != 2 || hunks[0].ID == hunks[1].ID {
		t.Fatalf("the hunks are %+v", hunks)
	}
	a := &accepting{Fixture: b}
	a.accept(cs, review.Choice{Hunks: []string{string(hunks[1].ID)}})
	if got := a.on("f"); got != reviewtest.Numbered("q\n", "q\nNEW\n") {
		t.Errorf("f is %q", got)
	}
}
