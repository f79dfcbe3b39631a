package diff

import (
	"bytes"
	"slices"

	"aibox/review"
)

// pairs are n old lines, starting at left, beside n new lines, starting at right. -1 means no
// lines.
type pairs struct {
	left, right, n int
	same           bool // the two differ in blanks only
}

// pairUp pairs the old lines [a, b) with the new lines [c, d), in order.
func pairUp(a, b, c, d int) []pairs {
	n := min(b-a, d-c)
	all := make([]pairs, 0, 2)
	if n > 0 {
		all = append(all, pairs{left: a, right: c, n: n})
	}
	switch {
	case b-a > n:
		all = append(all, pairs{left: a + n, right: -1, n: b - a - n})
	case d-c > n:
		all = append(all, pairs{left: -1, right: c + n, n: d - c - n})
	}
	return all
}

// alignAll aligns the changed lines of hunks. It returns the pairs of each run of each hunk.
func alignAll(hunks []review.Hunk, runs [][]run) [][][]pairs {
	all := make([][][]pairs, len(hunks))
	for i := range hunks {
		for _, r := range runs[i] {
			all[i] = append(all[i], align(hunks[i].Lines, r.from, r.added, r.to))
		}
	}
	return all
}

// lookahead is how many lines ahead a matching line is looked for.
const lookahead = 40

// align pairs lines that differ only in blanks, and the lines between them in order. A line that
// has only blanks matches no line.
func align(lines []review.Line, from, added, to int) []pairs {
	a := aligner{lines: lines, left: from, right: added}
	sums := make([]uint64, to-added)
	for i := range sums {
		sums[i] = withoutBlanks(lines[added+i].Text)
	}
	for l := from; l < added && a.right < to; l++ {
		sum := withoutBlanks(lines[l].Text)
		near := sums[a.right-added : min(to, a.right+lookahead)-added]
		if r := a.right + slices.Index(near, sum); r >= a.right && sameButBlanks(lines[l].Text, lines[r].Text) {
			a.upTo(l, r)
			a.add(true, true, true)
		}
	}
	a.upTo(added, to)
	return a.all
}

// aligner pairs lines, starting at left and right.
type aligner struct {
	lines       []review.Line
	left, right int
	all         []pairs
}

// upTo pairs the lines before l and r in order.
func (a *aligner) upTo(l, r int) {
	for a.left < l || a.right < r {
		switch {
		case a.right < r && blank(a.lines[a.right].Text):
			a.add(false, true, true)
		case a.left < l && blank(a.lines[a.left].Text):
			a.add(true, false, true)
		default:
			a.add(a.left < l, a.right < r, false)
		}
	}
}

// add appends one line: an old one, a new one or both.
func (a *aligner) add(old, fresh, same bool) {
	next := pairs{left: -1, right: -1, n: 1, same: same}
	if old {
		next.left = a.left
		a.left++
	}
	if fresh {
		next.right = a.right
		a.right++
	}
	if n := len(a.all); n > 0 {
		if last := &a.all[n-1]; last.same == same && (last.left >= 0) == old && (last.right >= 0) == fresh {
			last.n++ // its lines end where these begin
			return
		}
	}
	a.all = append(a.all, next)
}

// withoutBlanks returns a checksum (FNV-1a) of a line without its blanks.
func withoutBlanks(text []byte) uint64 {
	sum := uint64(14695981039346656037)
	for _, c := range text {
		if c != ' ' && (c < '\t' || c > '\r') {
			sum = (sum ^ uint64(c)) * 1099511628211
		}
	}
	return sum
}

func blank(text []byte) bool { return len(bytes.TrimSpace(text)) == 0 }

// sameButBlanks reports whether two lines are equal without their blanks.
func sameButBlanks(a, b []byte) bool {
	for {
		a, b = bytes.TrimLeft(a, " \t\n\v\f\r"), bytes.TrimLeft(b, " \t\n\v\f\r")
		if len(a) == 0 || len(b) == 0 {
			return len(a) == len(b)
		}
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
}
