package logview

import (
	"fmt"
	"strings"
	"testing"

	"aibox/session/output"
)

// chunk is standard output at an offset.
func chunk(at int64, text string) output.Chunk {
	return output.Chunk{Offset: at, Stream: output.Stdout, Data: []byte(text)}
}

// numbered is n lines "0" to "n-1", padded to size bytes each.
func numbered(from, n, size int) string {
	var b strings.Builder
	for i := from; i < from+n; i++ {
		fmt.Fprintf(&b, "%-*d\n", size-1, i)
	}
	return b.String()
}

func screenOf(w *window) string {
	var rows []string
	for _, s := range w.view() {
		rows = append(rows, strings.TrimSpace(s.text))
	}
	return strings.Join(rows, " ")
}

func TestTheLastRowsAreShownWhileTheRecordIsFollowed(t *testing.T) {
	w := window{width: 10, height: 3, follow: true}
	w.feed(chunk(0, "a\nb\nc\nd\n"))
	if got := screenOf(&w); got != "b c d" {
		t.Errorf("%q", got)
	}
	w.feed(chunk(8, "e"))
	if got := screenOf(&w); got != "c d e" {
		t.Errorf("%q", got)
	}
	w.up(1)
	w.feed(chunk(9, "\nf\n"))
	if got := screenOf(&w); got != "b c d" || w.follow {
		t.Errorf("%q", got)
	}
	w.down(9)
	if got := screenOf(&w); got != "d e f" || !w.follow {
		t.Errorf("%q, follows %v", got, w.follow)
	}
}

func TestLongLinesAreWrappedAndScrolledByRow(t *testing.T) {
	w := window{width: 4, height: 2, follow: true}
	w.feed(chunk(0, "\x1b[31mabcdefghij\x1b[m\nxy\n"))
	if got := screenOf(&w); got != "\x1b[31mij\x1b[m xy" {
		t.Errorf("%q", got)
	}
	w.up(1)
	if got := screenOf(&w); got != "\x1b[31mefgh\x1b[m \x1b[31mij\x1b[m" {
		t.Errorf("%q", got)
	}
	w.up(9)
	if got := screenOf(&w); got != "\x1b[31mabcd\x1b[m \x1b[31mefgh\x1b[m" {
		t.Errorf("%q", got)
	}
}

func TestWhatIsHereAlreadyOrDoesNotFollowIsNotTakenTwice(t *testing.T) {
	w := window{width: 10, height: 9}
	w.replace(0, []output.Chunk{chunk(0, "a\nb\n")})
	w.feed(chunk(0, "a\nb\n"))
	w.feed(chunk(2, "b\nc\n"))
	w.feed(chunk(50, "far\n"))
	if got := screenOf(&w); got != "a b c" || w.hi != 6 || w.total != 54 || w.complete() {
		t.Errorf("%q up to %d of %d", got, w.hi, w.total)
	}
}

func TestOnlySomeOfALongRecordIsInMemoryAndTheScreenStaysWhereItIs(t *testing.T) {
	const size = 8
	w := window{width: 10, height: 3, follow: true}
	n := 2 * maxLines
	for i := 0; i < n; i += 1000 {
		w.feed(chunk(int64(i*size), numbered(i, 1000, size)))
	}
	if len(w.lines) > maxLines*11/10 || w.lo != w.lines[0].at || w.lo == 0 {
		t.Fatalf("%d lines from %d", len(w.lines), w.lo)
	}
	last := fmt.Sprintf("%d %d %d", n-3, n-2, n-1)
	if got := screenOf(&w); got != last {
		t.Errorf("%q, not %q", got, last)
	}
	w.up(maxLines * 2) // to the first line there is
	before := screenOf(&w)
	for w.lo > 0 {
		from := max(0, w.lo-1000*size)
		w.prepend(from, []output.Chunk{chunk(from, numbered(int(from/size), int((w.lo-from)/size), size))})
		if got := screenOf(&w); got != before {
			t.Fatalf("the screen moved from %q to %q", before, got)
		}
	}
	w.up(w.top)
	if got := screenOf(&w); got != "0 1 2" || len(w.lines) > maxLines*11/10 || w.complete() {
		t.Errorf("%q of %d lines up to %d", got, len(w.lines), w.hi)
	}
	w.feed(chunk(w.hi, numbered(int(w.hi/size), 10, size)))
	if last := w.lines[len(w.lines)-1]; last.at != w.hi-size {
		t.Errorf("the lines go on at %d, behind %d", last.at, w.hi)
	}
}

func TestALineIsRevealedByItsPlace(t *testing.T) {
	w := window{width: 10, height: 3, follow: true}
	w.feed(chunk(0, "a\nb\nc\nd\ne\nf\n"))
	if !w.reveal(6) || screenOf(&w) != "c d e" || w.at() != 4 {
		t.Errorf("%q at %d", screenOf(&w), w.at())
	}
	if w.reveal(1) {
		t.Error("there is a line in the middle of one")
	}
	w.height = 5
	if !w.reveal(8) || screenOf(&w) != "b c d e f" {
		t.Errorf("rows are empty where lines above could be: %q", screenOf(&w))
	}
}

// Update splits loaded output into lines, and handles no key meanwhile.
func TestNoLoadHasMoreLinesThanUpdateSplitsBetweenTwoFrames(t *testing.T) {
	const most = 10_000
	s := &scene{}
	for from := range 20 {
		s.say(output.Stdout, numbered(10_000*from, 10_000, 7))
	}
	p := open(t, s)
	known := 0
	for _, key := range []string{"end", "home", "pgdown", "end", "pgup"} {
		p.Press(key)
		if n := len(p.m.window.lines) - known; n > most {
			t.Errorf("%d lines are loaded at once, by %s", n, key)
		}
		known = len(p.m.window.lines)
	}
	p.Press("home")
	p.Sees("0")
	p.Press("end")
	p.Sees("199999")
}
