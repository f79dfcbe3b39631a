package review

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"aibox/internal/git"
)

// patchSeed is git's patch of four files: quoted names, content that looks like headers, a
// file without a newline at its end, and a changed type.
const patchSeed = ":100644 100644 1111 2222 M\t\"a\\nb\"\n" +
	":100644 120000 1111 2222 T\tlink\n" +
	":100644 100755 1111 2222 R090\told\tnew\n" +
	":000000 100644 0000 2222 A\tempty\n\n" +
	"diff --git \"a/a\\nb\" \"b/a\\nb\"\nindex 1111..2222 100644\n--- \"a/a\\nb\"\n+++ \"b/a\\nb\"\n" +
	"@@ -1,5 +1,5 @@ func main() {\n one\n--- a/x\n+++ b/x\n+@@ -1 +1 @@\n two\n-three\n four\n\\ No newline at end of file\n" +
	"diff --git a/link b/link\ndeleted file mode 100644\n--- a/link\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n" +
	"diff --git a/link b/link\nnew file mode 120000\n--- /dev/null\n+++ b/link\n@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n" +
	"diff --git a/old b/new\nold mode 100644\nnew mode 100755\nsimilarity index 90%\nBinary files a/old and b/new differ\n" +
	"diff --git a/empty b/empty\nnew file mode 100644\n"

// recordedPatch records the parts of a patch.
type recordedPatch struct {
	list     []string
	sections []patchSection
	ended    bool
}

func (h *recordedPatch) raw(line string) error { h.list = append(h.list, line); return nil }
func (h *recordedPatch) section(s *patchSection) error {
	h.sections = append(h.sections, *s)
	return nil
}
func (h *recordedPatch) end() error { h.ended = true; return nil }

func TestPatchContentIsNotParsedAsAHeader(t *testing.T) {
	var got recordedPatch
	if err := readPatch(strings.NewReader(patchSeed), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.list) != 4 || len(got.sections) != 5 || !got.ended {
		t.Fatalf("%d files listed, %d shown", len(got.list), len(got.sections))
	}
	first := got.sections[0]
	if len(first.hunks) != 1 || len(first.hunks[0].Lines) != 7 {
		t.Fatalf("the first file is %+v", first)
	}
	h := first.hunks[0]
	if h.Section != "func main() {" || h.OldStart != 1 || h.OldLines != 5 || h.NewLines != 5 || !h.Lines[6].NoNewline || h.Lines[5].NoNewline {
		t.Errorf("the hunk is %+v", h)
	}
	for i, hunks := range []int{1, 1, 1, 0, 0} {
		if len(got.sections[i].hunks) != hunks {
			t.Errorf("section %d has %d hunks", i, len(got.sections[i].hunks))
		}
	}
}

// FuzzPatchReader gives the reader input that git would never print. The reader must accept
// or refuse it, and accepted input must be consistent.
func FuzzPatchReader(f *testing.F) {
	f.Add([]byte(patchSeed), []byte("one\n-- a/x\ntwo\nthree\nfour"))
	f.Add([]byte("diff --git a/f b/f\n@@ -0,0 +1,2147483647 @@\n+x\n"), []byte(""))
	f.Add([]byte("diff --git a/f b/f\n@@ -1 +1 @@\n\\ No newline at end of file\n-x\n+y\n"), []byte("x\n"))
	f.Add([]byte("diff --git a/f b/f\n@@ -9223372036854775807,1 +1 @@\n"), []byte("\n"))
	f.Fuzz(func(t *testing.T, patch, baseline []byte) {
		var got recordedPatch
		if readPatch(bytes.NewReader(patch), &got) != nil {
			return
		}
		for _, s := range got.sections {
			for _, h := range s.hunks {
				h.Kind, h.Path, h.OldBlob = HunkText, "f", "b"
				h.ID = h.id(Change{})
				agrees(t, h)
				_, _ = applyBlocks(baseline, h.blocks())
			}
		}
	})
}

// agrees checks a hunk and its parts.
func agrees(t *testing.T, h Hunk) {
	t.Helper()
	count := h
	count.span(h.counter().to(0))
	if count.OldStart != h.OldStart || count.OldLines != h.OldLines || count.NewStart != h.NewStart || count.NewLines != h.NewLines {
		t.Fatalf("the numbers of %+v come out as %+v", h, count)
	}
	parts := h.Split()
	var blocks []block
	seen := map[HunkID]bool{}
	for _, part := range parts {
		if len(parts) > 1 && len(part.blocks()) != 1 {
			t.Fatalf("a part has %d runs of changed lines", len(part.blocks()))
		}
		blocks = append(blocks, part.blocks()...)
		if seen[part.ID] {
			t.Fatalf("two parts are called %s", part.ID)
		}
		seen[part.ID] = true
		if again := part.Split(); len(again) != 1 || again[0].ID != part.ID {
			t.Fatalf("part %s splits into %v", part.ID, again)
		}
		// Other context lines do not make it another hunk.
		bare := part
		for len(bare.Lines) > 0 && bare.Lines[0].Op == ' ' {
			before, after := bare.counter().to(1)
			bare.Lines = bare.Lines[1:]
			bare.span(before, after)
		}
		if len(bare.Lines) > 0 && bare.id(Change{}) != part.ID {
			t.Fatalf("%+v is another hunk than %+v", bare, part)
		}
	}
	whole := h.blocks()
	same := slices.EqualFunc(whole, blocks, func(a, b block) bool {
		return a.at == b.at && a.old == b.old && fmt.Sprint(a.lines) == fmt.Sprint(b.lines)
	})
	if !same {
		t.Fatalf("the parts change %v, the hunk %v", blocks, whole)
	}
}

// FuzzHunksOfAnyContent asks git for the hunks between two contents: applying all of them
// gives the new one, and applying none the old one.
func FuzzHunksOfAnyContent(f *testing.F) {
	for _, pair := range [][2]string{
		{"", "x"},
		{"x", ""},
		{"a\nb\nc\n", "a\nB\nc"},
		{"a\nb", "a\nb\n"},
		{"a\r\nb\r\n", "a\nb\n"},
		{"\n\n\n", "\n\n"},
		{"a\na\na\na\na\na\na\na\na\n", "b\na\na\na\nc\na\na\na\nd"},
		{"\xff\xfe\n", "\xff\n"},
		{"text\n", "\x00binary"},
		{"\r", "\r\n"},
		{"@@ -1 +1 @@\n", "diff --git a/f b/f\n"},
		{"\\ No newline at end of file\n", "\\ No newline at end of file"},
	} {
		f.Add([]byte(pair[0]), []byte(pair[1]), uint16(5))
	}
	dir := newOwned(f)
	f.Fuzz(func(t *testing.T, base, agent []byte, some uint16) {
		if bytes.Equal(base, agent) || len(base)+len(agent) > 64<<10 {
			return
		}
		cs := changeSetOf(t, dir, map[string]treeFile{"f": {git.File, string(base)}}, map[string]treeFile{"f": {git.File, string(agent)}}, t.Fatalf)
		var hunks []Hunk
		if err := cs.Files(t.Context(), func(f FileDiff) error { hunks = f.Hunks; return nil }); err != nil {
			t.Fatal(err)
		}
		var all, part []block
		for _, h := range hunks {
			if h.Kind == HunkContent {
				return
			}
			agrees(t, h)
			for _, b := range h.blocks() {
				all = append(all, b)
				if some>>(len(all)%16)&1 == 1 {
					part = append(part, b)
				}
			}
		}
		if got, err := applyBlocks(base, all); err != nil || !bytes.Equal(got, agent) {
			t.Fatalf("all hunks give %q (%v), want %q", got, err, agent)
		}
		if got, err := applyBlocks(base, nil); err != nil || !bytes.Equal(got, base) {
			t.Fatalf("no hunks give %q (%v)", got, err)
		}
		if _, err := applyBlocks(base, part); err != nil {
			t.Fatalf("some hunks cannot be taken: %v", err)
		}
	})
}

func TestLargeHunksAreSplitInLinearTime(t *testing.T) {
	h := Hunk{Kind: HunkText, OldStart: 1, NewStart: 1}
	for i := range 100_000 {
		text := fmt.Appendf(nil, "line %d", i)
		h.Lines = append(h.Lines, Line{Op: '-', Text: text}, Line{Op: '+', Text: text}, Line{Op: ' ', Text: text})
	}
	h.span(0, 0)
	parts := h.Split()
	if last := parts[len(parts)-1]; len(parts) != 100_000 || last.OldStart != 199_998 || last.NewStart != 199_998 {
		t.Errorf("%d parts, the last one at -%d +%d", len(parts), last.OldStart, last.NewStart)
	}
}

// TestManyLinesOfABlockAreTakenInLinearTime takes almost all lines of the longest block that
// has lines. Searching all of them for each takes a minute.
func TestManyLinesOfABlockAreTakenInLinearTime(t *testing.T) {
	b := block{lines: make([]Line, maxHunkLines)}
	h := Hunk{ID: "x", Kind: HunkText, Lines: b.lines}
	numbers := make([]int, 0, maxHunkLines)
	for i := range b.lines {
		b.lines[i].Op = '+'
		if i > 0 {
			numbers = append(numbers, i+1)
		}
	}
	taken := Taken{Lines: []BlockLines{{h.ID, numbers, maxHunkLines}}}
	if got := len(b.only(numbers).lines); got != len(numbers) {
		t.Errorf("%d lines", got)
	}
	if got := len(taken.linesIn(&h).numbers()); got != len(numbers) {
		t.Errorf("%d lines", got)
	}
	if !taken.hasLines(taken.Lines[0]) {
		t.Error("its own lines are missing")
	}
}
