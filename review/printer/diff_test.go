package printer

import (
	"bufio"
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"aibox/review"
)

// shownAs returns the output for git's patch when it is written in these pieces.
func shownAs(t testing.TB, opts DiffOptions, changes []review.Change, pieces ...string) string {
	t.Helper()
	var out bytes.Buffer
	s := &diffPrinter{out: bufio.NewWriter(&out), opts: opts, changes: changes, at: -1}
	for _, piece := range pieces {
		if _, err := io.WriteString(s, piece); err != nil {
			return out.String()
		}
	}
	_ = s.end()
	_ = s.out.Flush()
	return out.String()
}

const patchOfTwo = `diff --git "a/caf\303\251.txt" "b/caf\303\251.txt"
index 1111111..2222222 100644
--- "a/caf\303\251.txt"
+++ "b/caf\303\251.txt"
@@ -1,3 +1,3 @@ func main() {
 one
-the old word here
+the new word here
--- a/not-a-header
diff --git a/b.sh b/b.sh
old mode 100644
new mode 100755
`

func twoChanges() []review.Change {
	return []review.Change{{Path: "café.txt", Kind: review.Modified}, {Path: "b.sh", Kind: review.ModeChanged}}
}

func TestADiffIsShownWithReadableNamesAndMarkedWords(t *testing.T) {
	text := strings.Replace(patchOfTwo, "--- a/not-a-header", " -- a/not-a-header", 1)
	got := shownAs(t, DiffOptions{Color: true}, twoChanges(), text)
	want := `<b>diff --git a/café.txt b/café.txt</>
<b>--- a/café.txt</>
<b>+++ b/café.txt</>
<c>@@ -1,3 +1,3 @@ func main() {</>
 one
<r>-the <i>old</i> word here</>
<g>+the <i>new</i> word here</>
 -- a/not-a-header
<b>diff --git a/b.sh b/b.sh</>
<b>now executable</>
`
	want = strings.NewReplacer("<b>", bold, "<c>", cyan, "<r>", red, "<g>", green, "<i>", reverse, "</i>", forward, "</>", reset).Replace(want)
	if got != want {
		t.Errorf("shown as\n%s\nwant\n%s", got, want)
	}
}

func TestALineOfContentIsNotShownAsAHeader(t *testing.T) {
	text := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- a/etc/passwd\n-diff --git a/y b/y\n+++ b/etc/passwd\n+@@ -1 +1 @@\n"
	got := shownAs(t, DiffOptions{}, []review.Change{{Path: "x", Kind: review.Modified}}, text)
	if got != text {
		t.Errorf("shown as\n%s", got)
	}
}

func TestRemarksAreShownAtTheirLines(t *testing.T) {
	remarks := []Remark{
		{Line: 0, Alarm: true, Text: "runs at the next make"},
		{Line: 2, Text: "why?\nreally \x1b]0;x\x07"},
		{Line: 2, Old: true, Text: "keep this"},
		{Line: 90, Text: "far away"},
	}
	got := shownAs(t, DiffOptions{Remarks: func(c *review.Change) []Remark {
		if c.Path == "x" {
			return remarks
		}
		return nil
	}}, []review.Change{{Path: "x", Kind: review.Modified}}, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n one\n-two\n+deux\n")
	want := `diff --git a/x b/x
! runs at the next make
--- a/x
+++ b/x
@@ -1,2 +1,2 @@
 one
-two
▌ keep this
+deux
▌ why?
▌ really \x1b]0;x\x07
▌ line 90: far away
`
	if got != want {
		t.Errorf("shown as\n%s", got)
	}
}

func TestOnlyRequestedFilesAreShown(t *testing.T) {
	text := strings.Replace(patchOfTwo, "--- a/not-a-header", " diff --git a/z b/z", 1)
	got := shownAs(t, DiffOptions{Only: func(c *review.Change) bool { return c.Path == "b.sh" }}, twoChanges(), text)
	if want := "diff --git a/b.sh b/b.sh\nnow executable\n"; got != want {
		t.Errorf("shown as\n%s", got)
	}
}

func TestEveryChangedWordOfALineIsMarked(t *testing.T) {
	for _, c := range []struct{ removed, added, want string }{
		{"a := foo(1, 2)", "a := bar(1, 3)", "-a := [foo](1, [2])|+a := [bar](1, [3])"},
		{"value", "values", "-value|+values"},
		{"f(a)", "// why|f(a, b)", "-f(a)|+// why|+f(a[, b])"}, // even with added lines
	} {
		h := review.Hunk{}
		for op, text := range map[byte]string{'-': c.removed, '+': c.added} {
			for line := range strings.SplitSeq(text, "|") {
				h.Lines = append(h.Lines, review.Line{Op: op, Text: []byte(line)})
			}
		}
		slices.SortStableFunc(h.Lines, func(a, b review.Line) int { return int(b.Op) - int(a.Op) })
		got := strings.Join(Hunk(h, true), "|")
		got = strings.NewReplacer(reverse, "[", forward, "]", red, "", green, "", reset, "").Replace(got)
		if got != c.want {
			t.Errorf("%q to %q: %s, not %s", c.removed, c.added, got, c.want)
		}
	}
}

func TestModesAndSymbolicLinksAreShownInWords(t *testing.T) {
	text := "diff --git a/x b/x\nnew file mode 100755\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n" +
		"diff --git a/y b/y\nindex 1111111..2222222 120000\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+new\n\\ No newline at end of file\n" +
		"diff --git a/z b/z\ndeleted file mode 100644\nindex 1111111..0000000\n" +
		"diff --git a/z b/z\nnew file mode 120000\nindex 0000000..1111111\n"
	got := shownAs(t, DiffOptions{}, []review.Change{{Path: "x", Kind: review.Added}, {Path: "y", Kind: review.Modified, OldMode: "120000", NewMode: "120000"}, {Path: "z", Kind: review.TypeChanged}}, text)
	want := `diff --git a/x b/x
new executable file
--- /dev/null
+++ b/x
@@ -0,0 +1 @@
+x
diff --git a/y b/y
symbolic link
--- a/y
+++ b/y
@@ -1 +1 @@
-old
+new
diff --git a/z b/z
deleted file
diff --git a/z b/z
new symbolic link
`
	if got != want {
		t.Errorf("shown as\n%s", got)
	}
}

func TestAVeryLongLineIsCut(t *testing.T) {
	text := "diff --git a/x b/x\n@@ -0,0 +1,2 @@\n+" + strings.Repeat("a", 3*review.MaxLine) + "\n+end\n"
	got := shownAs(t, DiffOptions{}, []review.Change{{Path: "x", Kind: review.Added}}, text)
	if len(got) > review.MaxLine+200 || !strings.Contains(got, "… (line truncated)\n+end\n") {
		t.Errorf("shown in %d bytes, ending %q", len(got), got[len(got)-60:])
	}
}

var anyStyle = regexp.MustCompile("\x1b\\[(?:1|7|27|3[1236])?m")

func FuzzShownDiffIsSafe(f *testing.F) {
	f.Add(patchOfTwo, 10, true)
	f.Add("diff --git a/x b/x\n@@ -1 +1 @@\n-a\x1b]52;c;x\x07\n+b\u202e\xff\r\n\\ No newline at end of file\n", 30, false)
	f.Add("diff --git a/x b/x\n@@ -1 +1 @@\n-a\n\x9d", 30, true)
	f.Fuzz(func(t *testing.T, patch string, cut int, color bool) {
		cut = max(0, min(cut, len(patch)))
		opts := DiffOptions{Color: color, Remarks: func(*review.Change) []Remark { return []Remark{{Line: 1, Text: patch}} }}
		whole := shownAs(t, opts, twoChanges(), patch)
		if parts := shownAs(t, opts, twoChanges(), patch[:cut], patch[cut:]); parts != whole {
			t.Fatalf("cut at %d it is shown as %q, whole as %q", cut, parts, whole)
		}
		if color {
			whole = anyStyle.ReplaceAllString(whole, "")
		}
		if !utf8.ValidString(whole) {
			t.Fatalf("%q is not UTF-8", whole)
		}
		for _, r := range whole {
			if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e {
				t.Fatalf("%q holds %U", whole, r)
			}
		}
	})
}
