// Package worddiff compares two versions of a line by words, so that a diff can mark the
// changes within it. It does no I/O and prints nothing.
//
// It is written by hand because an agent controls the lines: the libraries compare without
// a limit on time or memory, and by characters, which marks single letters of a word.
package worddiff

import "unicode/utf8"

// Span is a part of a line, in bytes.
type Span struct{ From, To int }

const (
	maxLine  = 2 << 10 // bytes; of longer lines only the common beginning and end are found
	maxEdits = 48      // words removed and added; the same for lines with more
)

// Diff returns the parts of each version of a line that the other one lacks, in order.
// Parts are whole words, and never cut a character. Both are empty when the versions have
// too little in common to be versions of one line. Lines that differ only in blanks always
// have something in common.
func Diff(old, fresh []byte) (oldSpans, freshSpans []Span) {
	c := comparison{old: old, fresh: fresh}
	if len(old) <= maxLine && len(fresh) <= maxLine {
		c.a, c.b = words(old), words(fresh)
		c.compare()
	} else {
		c.affixes()
	}
	if !c.similar() {
		return nil, nil
	}
	return changedIn(c.equal, len(old), func(e match) Span { return e.old }),
		changedIn(c.equal, len(fresh), func(e match) Span { return e.fresh })
}

// match is a part that both versions have.
type match struct{ old, fresh Span }

// comparison finds what two versions of a line have in common.
type comparison struct {
	old, fresh []byte
	a, b       []Span // their words
	equal      []match
}

// compare finds the words that both versions have.
func (c *comparison) compare() {
	head, tail := 0, 0
	shorter := min(len(c.a), len(c.b))
	for head < shorter && c.same(head, head) {
		head++
	}
	for tail < shorter-head && c.same(len(c.a)-1-tail, len(c.b)-1-tail) {
		tail++
	}
	for i := range head {
		c.add(i, i)
	}
	c.edits(head, len(c.a)-tail, head, len(c.b)-tail)
	for i := tail; i > 0; i-- {
		c.add(len(c.a)-i, len(c.b)-i)
	}
	c.dropBlanks()
}

func (c *comparison) same(i, j int) bool {
	return string(c.old[c.a[i].From:c.a[i].To]) == string(c.fresh[c.b[j].From:c.b[j].To])
}

// add appends a word of both versions; to the previous part if it continues that.
func (c *comparison) add(i, j int) {
	if n := len(c.equal); n > 0 {
		if last := &c.equal[n-1]; last.old.To == c.a[i].From && last.fresh.To == c.b[j].From {
			last.old.To, last.fresh.To = c.a[i].To, c.b[j].To
			return
		}
	}
	c.equal = append(c.equal, match{c.a[i], c.b[j]})
}

// edits adds the words in common of a[from:to] and b[start:end]: Myers' algorithm, which
// gives up after maxEdits.
func (c *comparison) edits(from, to, start, end int) {
	n, m := to-from, end-start
	if n == 0 || m == 0 {
		return
	}
	most := min(n+m, maxEdits)
	reach := make([]int, 2*most+3) // by diagonal: how far into a
	var trace [][]int
	for d := 0; d <= most; d++ {
		for k := -d; k <= d; k += 2 {
			x := 0
			if at := most + 1 + k; k == -d || k != d && reach[at-1] < reach[at+1] {
				x = reach[at+1]
			} else {
				x = reach[at-1] + 1
			}
			for x < n && x-k < m && x-k >= 0 && c.same(from+x, start+x-k) {
				x++
			}
			reach[most+1+k] = x
			if x >= n && x-k >= m {
				c.backtrack(append(trace, reach), most, d, from, start, n, m)
				return
			}
		}
		trace = append(trace, append([]int(nil), reach...))
	}
}

// backtrack adds the words in common along the path to the end: trace holds how far each
// diagonal reached after every number of edits.
func (c *comparison) backtrack(trace [][]int, most, edits, from, start, x, y int) {
	var found [][2]int
	for d := edits; d > 0; d-- {
		before, k := trace[d-1], x-y
		last := k - 1
		if at := most + 1 + k; k == -d || k != d && before[at-1] < before[at+1] {
			last = k + 1
		}
		lastX := before[most+1+last]
		lastY := lastX - last
		for x > lastX && y > lastY {
			x, y = x-1, y-1
			found = append(found, [2]int{x, y})
		}
		x, y = lastX, lastY
	}
	for x > 0 && y > 0 {
		x, y = x-1, y-1
		found = append(found, [2]int{x, y})
	}
	for i := len(found) - 1; i >= 0; i-- {
		c.add(from+found[i][0], start+found[i][1])
	}
}

// dropBlanks drops parts of blanks only between two changes: "one two" that becomes
// "three four" is one change.
func (c *comparison) dropBlanks() {
	kept := c.equal[:0]
	for i, e := range c.equal {
		inside := i > 0 && i < len(c.equal)-1 || e.old.From > 0 && e.fresh.From > 0 && e.old.To < len(c.old) && e.fresh.To < len(c.fresh)
		if !inside || solid(c.old[e.old.From:e.old.To]) > 0 {
			kept = append(kept, e)
		}
	}
	c.equal = kept
}

// affixes finds the common beginning and end of long lines, in whole words.
func (c *comparison) affixes() {
	a, b := c.old, c.fresh
	head, tail, shorter := 0, 0, min(len(a), len(b))
	for head < shorter && a[head] == b[head] {
		head++
	}
	for head > 0 && (inWord(a, head) || inWord(b, head)) {
		head--
	}
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && (inWord(a, len(a)-tail) || inWord(b, len(b)-tail)) {
		tail--
	}
	c.equal = []match{{Span{0, head}, Span{0, head}}, {Span{len(a) - tail, len(a)}, Span{len(b) - tail, len(b)}}}
}

// similar reports whether the versions have a third of their text in common, or differ only
// in blanks.
func (c *comparison) similar() bool {
	common, solids := 0, 0
	for _, e := range c.equal {
		part := c.old[e.old.From:e.old.To]
		common, solids = common+len(part), solids+solid(part)
	}
	return 3*common >= max(len(c.old), len(c.fresh)) || solid(c.old) == solids && solid(c.fresh) == solids
}

// changedIn returns the parts of a version of size bytes that are not in common.
func changedIn(equal []match, size int, of func(match) Span) []Span {
	var out []Span
	at := 0
	for _, e := range equal {
		if s := of(e); s.From > at {
			out = append(out, Span{at, s.From})
		}
		at = of(e).To
	}
	if at < size {
		out = append(out, Span{at, size})
	}
	return out
}

// words divides a line into words, runs of one blank character, and single characters.
func words(text []byte) []Span {
	out := make([]Span, 0, len(text)/3+1)
	for i := 0; i < len(text); {
		from := i
		switch {
		case wordByte(text[i]):
			for i < len(text) && wordByte(text[i]) {
				i++
			}
		case blank(text[i]):
			for i < len(text) && text[i] == text[from] {
				i++
			}
		default:
			_, size := utf8.DecodeRune(text[i:])
			i += size
		}
		out = append(out, Span{from, i})
	}
	return out
}

// inWord reports whether a cut at i would split a word.
func inWord(text []byte, i int) bool {
	return i > 0 && i < len(text) && wordByte(text[i-1]) && wordByte(text[i])
}

// wordByte holds for all bytes of characters beyond ASCII, too.
func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c >= 0x80
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// solid counts the bytes that are not blank.
func solid(text []byte) int {
	n := 0
	for _, c := range text {
		if !blank(c) {
			n++
		}
	}
	return n
}
