package review_test

import (
	"os"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/reviewtest"
)

func TestALineOfTheAgentsWorkIsQuoted(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "a\n", "gone.txt": "x\n", "dir/b.txt": "b\n", "old.txt": strings.Repeat("same\n", 20)}).Prepare()
	b.Write("a.txt", "one\n\x1btwo\nthree")
	b.Write("empty.txt", "")
	b.Write("long.txt", strings.Repeat("x", 200_000)+"\nnext\n")
	reviewtest.Must(t, os.Remove(b.Path("gone.txt")))
	reviewtest.Must(t, os.Rename(b.Path("old.txt"), b.Path("new name.txt")))
	cs := b.Compute()
	for _, c := range []struct {
		path review.Path
		line int
		want string
		says string // when it is refused
	}{
		{"a.txt", 0, "", ""},
		{"a.txt", 1, "one", ""},
		{"a.txt", 2, "\x1btwo", ""},
		{"a.txt", 3, "three", ""}, // without a newline
		{"a.txt", 4, "", "has 3 lines"},
		{"a.txt", -1, "", "line numbers start at 1"},
		{"long.txt", 2, "next", ""},
		{"long.txt", 3, "", "has 2 lines"},
		{"empty.txt", 0, "", ""},
		{"empty.txt", 1, "", "has 0 lines"},
		{"dir/b.txt", 1, "b", ""}, // not changed, but there
		{"dir", 0, "", "is not a file"},
		{"gone.txt", 0, "", ""},
		{"gone.txt", 1, "", "no file"},
		{"old.txt", 0, "", ""},
		{"new name.txt", 20, "same", ""},
		{"nosuch", 0, "", "no file nosuch"},
		{"", 0, "", "no file"},
		{"--all", 0, "", "no file"},
		{"../a.txt", 0, "", "no file"},
		{"\x1b]0;t\a", 0, "", `no file \x1b]0;t\x07`},
	} {
		got, err := cs.Quote(t.Context(), c.path, c.line)
		switch {
		case c.says == "" && (err != nil || got != c.want):
			t.Errorf("%q line %d is %.40q (%v)", c.path.Raw(), c.line, got, err)
		case c.says != "" && (fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%q line %d: %v", c.path.Raw(), c.line, err)
		}
	}
	if got, err := cs.Quote(t.Context(), "long.txt", 1); err != nil || len(got) > 64<<10 {
		t.Errorf("a long line comes with %d bytes (%v)", len(got), err)
	}
}

func TestAQuotedHunkIsADiffOfLimitedLength(t *testing.T) {
	h := review.Hunk{Kind: review.HunkText, OldStart: 3, OldLines: 1, NewStart: 3, NewLines: 1, Lines: []review.Line{
		{Op: ' ', Text: []byte("a")}, {Op: '-', Text: []byte("b")}, {Op: '+', Text: []byte("c"), NoNewline: true},
	}}
	if got := h.Diff(1000); got != "@@ -3,1 +3,1 @@\n a\n-b\n+c\n\\ No newline at end of file\n" {
		t.Errorf("it is %q", got)
	}
	for range 100 {
		h.Lines = append(h.Lines, review.Line{Op: '+', Text: []byte(strings.Repeat("x", 99))})
	}
	if got := h.Diff(1000); len(got) > 1100 || !strings.HasSuffix(got, "lines more)\n") {
		t.Errorf("%d bytes end with %q", len(got), got[len(got)-30:])
	}
	for kind, want := range map[review.HunkKind]string{
		review.HunkAdded: "new file\n", review.HunkDeleted: "deleted file\n", review.HunkContent: "changed as a whole (binary, symlink or Git LFS)\n",
		review.HunkMode: "changed whether the file is executable\n", review.HunkType: "changed between file and symlink\n",
	} {
		if got := (review.Hunk{Kind: kind}).Diff(100); got != want {
			t.Errorf("%s is %q", kind, got)
		}
	}
	if got := (review.Hunk{Kind: review.HunkRenamed, OldPath: "a\x1bb"}).Diff(100); got != "renamed from a\\x1bb\n" {
		t.Errorf("a rename is %q", got)
	}
}
