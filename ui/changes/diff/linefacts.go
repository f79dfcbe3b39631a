package diff

import (
	"sort"
	"unicode/utf8"

	"aibox/internal/termtext"
	"aibox/review/worddiff"
)

// maxFacts is the maximum number of lines of a file about which facts are kept.
const maxFacts = 5000

// lineFacts caches facts about a file's lines that take long to compute. Most lines that are drawn
// after a key press were on the screen before it.
type lineFacts struct {
	file     *File
	revision int // of the file
	differs  map[lineKey]versions
	others   map[runKey]map[int32]int32
	columns  map[lineKey]int
	wrapped  map[wrapKey][]int
}

// wrapKey identifies a line that is wrapped to a width, in at most a number of parts.
type wrapKey struct {
	lineKey
	width, most int
}

// lineKey identifies a line of a file, and the line that it is compared with; -1 means none.
type lineKey struct {
	gap               bool
	hunk, line, other int32
}

// runKey identifies a run of changed lines.
type runKey struct{ hunk, from int32 }

// versions holds the spans that only the old or only the new version of a line has.
type versions struct{ old, fresh []span }

// use makes f the file of the facts. It drops them if the file has changed or if there are
// too many.
func (c *lineFacts) use(f *File) {
	if c.file == f && c.revision == f.Revision && len(c.differs)+len(c.columns)+len(c.wrapped) < maxFacts {
		return
	}
	*c = lineFacts{f, f.Revision, map[lineKey]versions{}, map[runKey]map[int32]int32{}, map[lineKey]int{}, map[wrapKey][]int{}}
}

// other returns the other version of a changed line of a hunk, or -1.
func (c *lineFacts) other(hunk, line int32) int32 {
	runs := c.file.runs[hunk]
	i := sort.Search(len(runs), func(i int) bool { return runs[i].to > int(line) })
	if i == len(runs) || int(line) < runs[i].from {
		return -1
	}
	r := runs[i]
	key := runKey{hunk, int32(r.from)}
	pairs, ok := c.others[key]
	if !ok {
		pairs = c.file.pairs(hunk, r)
		c.others[key] = pairs
	}
	if other, ok := pairs[line]; ok {
		return other
	}
	return -1
}

// pairs returns which lines of a run are versions of each other.
func (f *File) pairs(hunk int32, r run) map[int32]int32 {
	texts := func(from, to int) [][]byte {
		all := make([][]byte, 0, to-from)
		for _, line := range f.Hunks()[hunk].Lines[from:to] {
			all = append(all, line.Text)
		}
		return all
	}
	pairs := map[int32]int32{}
	if removed, added := r.added-r.from, r.to-r.added; removed != added && removed*added <= worddiff.MaxPairs {
		for i, j := range worddiff.Pair(texts(r.from, r.added), texts(r.added, r.to)) {
			if j >= 0 {
				left, right := int32(r.from+i), int32(r.added+j)
				pairs[left], pairs[right] = right, left
			}
		}
	}
	return pairs
}

// differing returns the parts of a line of a hunk that its other version lacks.
func (c *lineFacts) differing(hunk, line, other int32) []span {
	lines := c.file.Hunks()[hunk].Lines
	key := lineKey{hunk: hunk, line: line, other: other}
	if lines[line].Op == '+' {
		key.line, key.other = other, line
	}
	v, ok := c.differs[key]
	if !ok {
		old, fresh := lines[key.line].Text, lines[key.other].Text
		v.old, v.fresh = worddiff.Diff(old[:min(len(old), MaxShown)], fresh[:min(len(fresh), MaxShown)])
		c.differs[key] = v
	}
	if lines[line].Op == '+' {
		return v.fresh
	}
	return v.old
}

// width returns the columns of a line with its tail. Bytes of a very long line that are
// never shown count as one column each.
func (c *lineFacts) width(key lineKey, l *Line) int {
	text := l.Text[:min(len(l.Text), MaxShown)]
	if wide, ok := c.columns[key]; ok {
		return wide
	}
	wide := columns(Untab(termtext.Text(string(text)))) + columns(l.tail) + len(l.Text) - len(text)
	c.columns[key] = wide
	return wide
}

// starts returns the columns at which the parts of a wrapped line start.
func (c *lineFacts) starts(key wrapKey, l *Line) []int {
	starts, ok := c.wrapped[key]
	if !ok {
		text := l.Text[:min(len(l.Text), key.width*key.most*utf8.UTFMax, MaxShown)]
		starts = wrap(Untab(termtext.Text(string(text)))+l.tail, key.width, key.most)
		c.wrapped[key] = starts
	}
	return starts
}
