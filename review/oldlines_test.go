package review_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"aibox/review"
	"aibox/review/reviewtest"
)

// texts are the lines as one.
func texts(lines []review.Line) string {
	var all []string
	for _, l := range lines {
		all = append(all, string(l.Text))
	}
	return strings.Join(all, ",")
}

func TestLinesOutsideHunksAreReadFromTheBaseline(t *testing.T) {
	var old strings.Builder
	for i := range 200 {
		fmt.Fprintf(&old, "%d\n", i)
	}
	b := reviewtest.NewRepository(t, map[string]string{"a": old.String() + "\r\nlast", "gone": "x\n"}).Prepare()
	b.Write("a", strings.Replace(old.String(), "100\n", "hundred\n", 1)+"\r\nlast")
	b.Write("new", "n\n")
	cs := b.Compute()
	b.Write("a", "something else by now")
	lines, total, err := cs.OldLines(t.Context(), "a", 1<<20, review.Span{From: 0, To: 2}, review.Span{From: 99, To: 102}, review.Span{From: 200, To: 300})
	if err != nil || total != 202 {
		t.Fatalf("%d lines, %v", total, err)
	}
	for i, want := range []string{"0,1", "99,100,101", "\r,last"} {
		if got := texts(lines[i]); got != want {
			t.Errorf("span %d: %q, not %q", i, got, want)
		}
	}
	if ends := lines[2]; ends[0].NoNewline || !ends[1].NoNewline {
		t.Errorf("%+v", ends)
	}
	if _, total, err := cs.OldLines(t.Context(), "new", 1<<20, review.Span{To: 5}); err != nil || total != 0 {
		t.Errorf("a new file had %d lines, %v", total, err)
	}
	if _, _, err := cs.OldLines(t.Context(), "gone", 1<<20); err == nil {
		t.Error("a file that nobody changed has lines")
	}
}

func TestOnlyRequestedLinesAreKept(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	old := long + "\n" + strings.Repeat("0123456789\n", 1000)
	b := reviewtest.NewRepository(t, map[string]string{"a": old}).Prepare()
	b.Write("a", old+"more\n")
	cs := b.Compute()
	for _, most := range []int{0, 1, 100 << 10, 101 << 10} {
		lines, total, err := cs.OldLines(t.Context(), "a", most, review.Span{From: 0, To: 600}, review.Span{From: 700, To: 1001})
		if err != nil || total != 1001 {
			t.Fatalf("%d lines, %v", total, err)
		}
		kept := 0
		for _, l := range slices.Concat(lines...) {
			kept += len(l.Text)
			if len(l.Text) > 64<<10 {
				t.Errorf("a line of %d bytes is kept", len(l.Text))
			}
		}
		if kept > most || most > 64<<10 && len(lines[0]) < 100 {
			t.Errorf("%d bytes in %d lines are kept of %d", kept, len(lines[0]), most)
		}
	}
}
