package printer

import (
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/worddiff"
)

// Changed words in changed lines are marked. This is only for readability and must be cheap.

// Bounds of a run whose words are compared.
const (
	maxRunLines = 200
	maxRunBytes = 64 << 10
)

// hunkLine is a line of a hunk for display.
type hunkLine struct {
	op      byte // ' ', '+', '-' or '\\'
	number  int  // of the line, in the old file for '-'
	text    []byte
	long    bool            // it is cut
	differs []worddiff.Span // the parts that the other version lacks
}

// shown is the line for a terminal, without the newline.
func (l hunkLine) shown(color bool) string {
	style, end := "", ""
	switch l.op {
	case '+':
		style = green
	case '-':
		style = red
	}
	if l.long {
		end = " … (line truncated)"
	}
	text, at := termtext.Text(string([]byte{l.op})), 0
	for _, s := range l.differs {
		text += termtext.Text(string(l.text[at:s.From]))
		at = s.To
		changed := termtext.Text(string(l.text[s.From:s.To]))
		if color {
			changed = reverse + changed + forward
		}
		text += changed
	}
	return styled(text+termtext.Text(string(l.text[at:]))+end, style, color)
}

// Hunk returns the lines for the user's terminal, each without its newline: filtered, with
// the differences within them marked.
func Hunk(h review.Hunk, color bool) []string {
	shown := make([]string, 0, len(h.Lines))
	var waiting run
	flush := func() {
		waiting.highlight()
		for _, l := range waiting.lines {
			shown = append(shown, l.shown(color))
		}
		waiting = run{lines: waiting.lines[:0]}
	}
	for _, line := range h.Lines {
		if line.Op == ' ' || line.Op == '-' && waiting.added > 0 || waiting.full() {
			flush()
		}
		l := hunkLine{op: line.Op, text: line.Text}
		if len(l.text) > review.MaxLine {
			l.text, l.long = l.text[:review.MaxLine], true
		}
		waiting.add(l)
		if line.NoNewline {
			waiting.add(hunkLine{op: '\\', text: []byte(" No newline at end of file")})
		}
	}
	flush()
	return shown
}

// run is a group of removed lines followed by added ones.
type run struct {
	lines          []hunkLine
	removed, added int
	bytes          int
}

func (r *run) add(l hunkLine) {
	switch l.op {
	case '-':
		r.removed++
	case '+':
		r.added++
	}
	r.bytes += len(l.text)
	r.lines = append(r.lines, l)
}

func (r *run) full() bool { return len(r.lines) >= maxRunLines || r.bytes >= maxRunBytes }

// highlight marks the words that differ in removed lines and their new versions.
func (r *run) highlight() {
	if r.removed == 0 || r.added == 0 || r.bytes >= maxRunBytes {
		return
	}
	var removed, added []*hunkLine
	var old, fresh [][]byte
	for i := range r.lines {
		switch l := &r.lines[i]; l.op {
		case '-':
			removed, old = append(removed, l), append(old, l.text)
		case '+':
			added, fresh = append(added, l), append(fresh, l.text)
		}
	}
	for i, j := range worddiff.Pair(old, fresh) {
		if j >= 0 {
			removed[i].differs, added[j].differs = worddiff.Diff(old[i], fresh[j])
		}
	}
}
