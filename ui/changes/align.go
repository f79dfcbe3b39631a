package changes

import (
	"bytes"
	"slices"

	"aibox/review"

	tea "charm.land/bubbletea/v2"
)

// pairs are n old lines with as many new ones beside them, from left and right on; -1
// is none.
type pairs struct {
	left, right, n int
	same           bool // each differs from the other in blanks alone
}

// beside puts old lines, from a up to b, and new ones, from c up to d, beside each
// other as they come.
func beside(a, b, c, d int) []pairs {
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

// alignedAtOnce is how many lines of a file are compared without their blanks while a
// key waits for it.
const alignedAtOnce = 5000

// aligned brings the lines of a file beside each other that differ in blanks alone.
type aligned struct {
	sent
	file    int
	version int // see file
	lines   [][][]pairs
}

// align compares the lines of a long file without their blanks.
func (m *Model) align() tea.Cmd {
	f := m.file()
	if f == nil || !m.style.blank || f.aligned != nil || !f.loaded || m.aligning {
		return nil
	}
	m.aligning = true
	msg, hunks, runs := aligned{sent: sent{m}, file: m.at, version: f.version}, f.hunks, f.runs
	return func() tea.Msg {
		msg.lines = alignAll(hunks, runs)
		return msg
	}
}

// lineUp takes what was compared. The person may be at another file by now, or have
// divided a hunk.
func (m *Model) lineUp(msg aligned) tea.Cmd {
	m.aligning = false
	if f := m.files[msg.file]; f.version == msg.version {
		f.aligned = msg.lines
	}
	m.arrangeRows()
	m.scroll()
	return m.load()
}

// alignAll compares the changed lines of hunks: of each hunk, run by run.
func alignAll(hunks []review.Hunk, runs [][]run) [][][]pairs {
	all := make([][][]pairs, len(hunks))
	for i := range hunks {
		for _, r := range runs[i] {
			all[i] = append(all[i], align(hunks[i].Lines, r.from, r.added, r.to))
		}
	}
	return all
}

// ahead is how far a line is looked for among those in its place.
const ahead = 40

// align puts lines that differ in blanks alone beside each other, and the others
// between them as they come. Lines of nothing but blanks are the same as none.
func align(lines []review.Line, from, added, to int) []pairs {
	a := aligner{lines: lines, left: from, right: added}
	sums := make([]uint64, to-added)
	for i := range sums {
		sums[i] = withoutBlanks(lines[added+i].Text)
	}
	for l := from; l < added && a.right < to; l++ {
		sum := withoutBlanks(lines[l].Text)
		near := sums[a.right-added : min(to, a.right+ahead)-added]
		if r := a.right + slices.Index(near, sum); r >= a.right && sameButBlanks(lines[l].Text, lines[r].Text) {
			a.upTo(l, r)
			a.add(true, true, true)
		}
	}
	a.upTo(added, to)
	return a.all
}

// aligner puts lines beside each other, from left and right on.
type aligner struct {
	lines       []review.Line
	left, right int
	all         []pairs
}

// upTo puts the lines before l and r beside each other as they come.
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

// add goes on by one line, of the old ones, of the new ones or of both.
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

// withoutBlanks is a checksum (FNV-1a) of all of a line but its blanks.
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

// sameButBlanks compares two lines without any blanks.
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
