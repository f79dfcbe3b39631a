package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/decision"
	"aibox/review/risk"
	"aibox/session/feedback"

	"github.com/google/go-cmp/cmp"

	"aibox/review/accept"
)

// lineHunk is a hunk that replaces the lines of a file with these numbers; lines far apart are in
// separate hunks.
func lineHunk(path, id string, numbers ...int) review.Hunk {
	h := review.Hunk{ID: review.HunkID(id), Path: review.Path(path), Kind: review.HunkText, OldStart: numbers[0], NewStart: numbers[0]}
	for i, n := range numbers {
		if i > 0 {
			h.Lines = append(h.Lines, review.Line{Op: ' ', Text: []byte("between")})
		}
		h.Lines = append(h.Lines,
			review.Line{Op: '-', Text: fmt.Appendf(nil, "old %s %d", path, n)},
			review.Line{Op: '+', Text: fmt.Appendf(nil, "new %s %d", path, n)})
	}
	h.OldLines = 2*len(numbers) - 1
	h.NewLines = h.OldLines
	return h
}

// asked returns a prompt over some files, answered by lines.
type asked struct {
	*hunkPrompt
	choice review.Choice
	out    bytes.Buffer
	err    error
}

func ask(t *testing.T, files []review.FileDiff, answers string, change ...func(*hunkPrompt, *decision.Options)) *asked {
	t.Helper()
	a := &asked{}
	a.hunkPrompt = &hunkPrompt{
		in: &lines{in: bufio.NewReader(strings.NewReader(answers))}, out: &a.out, t: terminal{width: 80},
		load: func(_ context.Context, path review.Path) (review.FileDiff, error) {
			i := slices.IndexFunc(files, func(f review.FileDiff) bool { return f.Change.Path == path })
			return files[i], nil
		},
	}
	options := decision.Options{HunksOnly: true}
	for _, c := range change {
		c(a.hunkPrompt, &options)
	}
	var changes []*review.Change
	for _, f := range files {
		changes = append(changes, f.Change)
	}
	a.draft = decision.New(changes, options)
	a.err = a.run(t.Context())
	a.choice = a.draft.Choice()
	return a
}

// threeFiles returns two ordinary files and a risky one, listed last.
func threeFiles() []review.FileDiff {
	file := func(path string, hunks ...review.Hunk) review.FileDiff {
		return review.FileDiff{Change: &review.Change{Path: review.Path(path), Kind: review.Modified}, Hunks: hunks}
	}
	files := []review.FileDiff{
		file("a", lineHunk("a", "a1", 3), lineHunk("a", "a2", 30, 33), lineHunk("a", "a3", 60)),
		file("b", lineHunk("b", "b1", 1)),
		file("zz", lineHunk("zz", "z1", 1), lineHunk("zz", "z2", 9)),
	}
	files[2].Change.Risks = []risk.Risk{{Title: "a makefile", Runs: "its recipes", When: "on make"}}
	return files
}

func TestAnswersDecideOnHunks(t *testing.T) {
	for name, c := range map[string]struct {
		answers string
		want    review.Choice
		err     error
	}{
		"risky files first, by a whole word": {"yes\nyes\nn\nn\nn\nn\n", review.Choice{Hunks: []string{"z1", "z2"}, Risky: []string{"zz"}}, nil},
		"one letter takes no risk":           {"y\nn\na\nn\ny\ny\ny\ny\n", review.Choice{Hunks: []string{"a1", "a2", "a3", "b1"}}, nil},
		"part of a risky file":               {"n\nYES\nn\nn\nn\nn\n", review.Choice{Hunks: []string{"z2"}, Risky: []string{"zz"}}, nil},
		"all and none of a file":             {"d\na\nd\n", review.Choice{Hunks: []string{"a1", "a2", "a3"}}, nil},
		"some of a file":                     {"d\ny\nn\ny\nn\n", review.Choice{Hunks: []string{"a1", "a3"}}, nil},
		"leave with what was chosen":         {"d\ny\nq\n", review.Choice{Hunks: []string{"a1"}}, nil},
		"leave one open and come back":       {"d\nj\ny\ny\nn\ny\n", review.Choice{Hunks: []string{"a2", "a3", "b1"}}, nil},
		"change an answer":                   {"d\ny\nK\nn\ny\ny\ny\n", review.Choice{Hunks: []string{"a2", "a3", "b1"}}, nil},
		"go to a hunk and search":            {"d\ng 3\ny\n/old a 33\ny\nn\nn\n", review.Choice{Hunks: []string{"a2", "a3"}}, nil},
		"the end of the input":               {"d\ny\ny\n", review.Choice{}, io.EOF},
		"nonsense is asked again":            {"d\nyn\nx\n\x1b[A\n?\nd\nn\n", review.Choice{}, nil},
		"a last line without an end":         {"d\nd\ny", review.Choice{Hunks: []string{"b1"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := ask(t, threeFiles(), c.answers)
			if !errors.Is(a.err, c.err) {
				t.Fatalf("ended with %v:\n%s", a.err, a.out.String())
			}
			if diff := cmp.Diff(c.want, a.choice); c.err == nil && diff != "" {
				t.Errorf("chosen (-want +got):\n%s\n%s", diff, a.out.String())
			}
			if strings.ContainsRune(a.out.String(), '\x1b') {
				t.Errorf("the questions hold an escape:\n%q", a.out.String())
			}
		})
	}
}

func TestEachPartOfASplitHunkIsAskedAbout(t *testing.T) {
	files := threeFiles()[:1]
	parts := files[0].Hunks[1].Split()
	if len(parts) != 2 {
		t.Fatalf("%d parts", len(parts))
	}
	a := ask(t, files, "n\ns\nn\ny\nn\n")
	if want := (review.Choice{Hunks: []string{string(parts[1].ID)}}); !cmp.Equal(a.choice, want) || a.err != nil {
		t.Errorf("chosen %+v, %v", a.choice, a.err)
	}
	if text := a.out.String(); !strings.Contains(text, "Split into 2.") || !strings.Contains(text, "(3/4)") {
		t.Errorf("asked:\n%s", text)
	}
}

func TestCommentsAndRejectionsAreKeptAndARejectedHunkIsLeftOut(t *testing.T) {
	a := ask(t, threeFiles()[:1], "c why this\nc\nand that\ny\nr wrong name\nr\n\n")
	comments := []feedback.Comment{{Hunk: "a1", Text: "why this"}, {Hunk: "a1", Text: "and that"}}
	if diff := cmp.Diff(comments, a.comments); diff != "" {
		t.Errorf("comments (-want +got):\n%s", diff)
	}
	rejections := []decision.Rejection{{Hunk: "a2", Note: "wrong name"}, {Hunk: "a3"}}
	if diff := cmp.Diff(rejections, a.draft.Rejections()); diff != "" {
		t.Errorf("rejections (-want +got):\n%s", diff)
	}
	if !slices.Equal(a.choice.Hunks, []string{"a1"}) {
		t.Errorf("chosen %+v", a.choice)
	}
}

func TestAWordIsNotTakenForItsFirstLetter(t *testing.T) {
	a := ask(t, threeFiles()[1:2], "cancel\nreject\nlater\nc\tkept\ny\n")
	if diff := cmp.Diff([]feedback.Comment{{Hunk: "b1", Text: "kept"}}, a.comments); diff != "" || len(a.draft.Rejections()) > 0 || a.err != nil {
		t.Errorf("comments (-want +got):\n%s\nrejections %v, %v", diff, a.draft.Rejections(), a.err)
	}
	if !slices.Equal(a.choice.Hunks, []string{"b1"}) {
		t.Errorf("chosen %+v", a.choice)
	}
	for _, word := range []string{"cancel", "reject", "later"} {
		if !strings.Contains(a.out.String(), word+" is not an answer here; ? lists the answers") {
			t.Errorf("%s is taken for an answer:\n%s", word, a.out.String())
		}
	}
}

func TestSingleLinesAreChosenByNumber(t *testing.T) {
	a := ask(t, threeFiles()[:1], "l 9\nl\n2\nl 1,4\nn\n")
	if a.err != nil || !slices.Equal(a.choice.Hunks, []string{"a1:2", "a2:1", "a2:4"}) {
		t.Errorf("chosen %+v, %v:\n%s", a.choice, a.err, a.out.String())
	}
	for _, text := range []string{"Line numbers go from 1 to", "Accept which lines", "1: -old a 3"} {
		if !strings.Contains(a.out.String(), text) {
			t.Errorf("%q is not in\n%s", text, a.out.String())
		}
	}
}

func TestDeliveredHunksAreNotAskedAboutAgain(t *testing.T) {
	files := threeFiles()[:2]
	parts := files[0].Hunks[1].Split()
	blocks := []review.HunkID{"a1", parts[0].ID}
	slices.Sort(blocks)
	taken := &review.Selection{Taken: []review.Taken{{Path: "a", Blocks: blocks}, {Path: "b", Whole: true}}}
	a := ask(t, files, "y\ny\n", func(_ *hunkPrompt, o *decision.Options) {
		o.Earlier = map[accept.Target]*review.Selection{accept.ToBranch: taken}
	})
	if want := (review.Choice{Hunks: []string{string(parts[1].ID), "a3"}}); !cmp.Equal(a.choice, want) || a.err != nil {
		t.Errorf("chosen %+v, %v:\n%s", a.choice, a.err, a.out.String())
	}
}

func TestAHunkRejectedEarlierIsMarkedAndCanBeAccepted(t *testing.T) {
	a := ask(t, threeFiles()[1:2], "y\n", func(p *hunkPrompt, o *decision.Options) {
		o.Rejected = func(id review.HunkID) bool { return id == "b1" }
		p.earlier = map[review.HunkID][]string{"b1": {"rejected: too \x1b[31mred"}}
	})
	if !slices.Equal(a.choice.Hunks, []string{"b1"}) || !slices.Equal(a.draft.Unrejected(), []review.HunkID{"b1"}) {
		t.Errorf("chosen %+v, unrejected %v", a.choice, a.draft.Unrejected())
	}
	if text := a.out.String(); !strings.Contains(text, `▌ rejected: too \x1b[31mred`) {
		t.Errorf("asked:\n%s", text)
	}
}

func TestALongHunkIsShownInPages(t *testing.T) {
	h := review.Hunk{ID: "l1", Path: "long", Kind: review.HunkAdded}
	for i := range 30 {
		h.Lines = append(h.Lines, review.Line{Op: '+', Text: fmt.Appendf(nil, "line %d", i)})
	}
	h.Lines = append(h.Lines, review.Line{Op: '+', Text: bytes.Repeat([]byte("wide "), 1000)})
	files := []review.FileDiff{{Change: &review.Change{Path: "long", Kind: review.Added}, Hunks: []review.Hunk{h}}}
	small := func(p *hunkPrompt, _ *decision.Options) { p.t = terminal{interactive: true, width: 40, height: 13} }
	a := ask(t, files, "\n\n\n\n\ny\n", small)
	if a.err != nil || !slices.Equal(a.choice.Hunks, []string{"l1"}) {
		t.Fatalf("chosen %+v, %v", a.choice, a.err)
	}
	for i, screen := range strings.Split(a.out.String(), "?")[:5] {
		rows := 0
		for line := range strings.Lines(screen) {
			rows += 1 + (len(line)-1)/40
		}
		if i > 0 && rows > 13 {
			t.Errorf("screen %d has %d rows:\n%s", i, rows, screen)
		}
	}
	if text := a.out.String(); !strings.Contains(text, "(22 more lines: press enter)") || strings.Count(text, "+line 29\n") != 1 {
		t.Errorf("asked:\n%s", text)
	}
}
