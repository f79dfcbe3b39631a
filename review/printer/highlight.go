package printer

import (
	"aibox/internal/termtext"
	"aibox/review"
)

// Changed words in changed lines are marked. This only helps the eye and must be cheap:
// each removed line is compared with its counterpart among the added ones, and one span
// of each is marked.

// Bounds of a run whose words are compared.
const (
	maxRunLines = 200
	maxRunBytes = 64 << 10
)

// hunkLine is a line of a hunk as it is shown.
type hunkLine struct {
	op       byte // ' ', '+', '-' or '\\'
	number   int  // of the line, in the old file for '-'
	text     []byte
	long     bool // it is cut
	from, to int  // the span of text that is marked
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
	text := string(l.op) + termtext.Text(string(l.text[:l.from]))
	if changed := termtext.Text(string(l.text[l.from:l.to])); color && changed != "" {
		text += reverse + changed + forward
	} else {
		text += changed
	}
	return styled(text+termtext.Text(string(l.text[l.to:]))+end, style, color)
}

// Hunk writes the lines for the user's terminal, each without its newline:
// filtered, what differs within them marked.
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

// highlight marks the differences if as many lines were added as removed.
func (r *run) highlight() {
	if r.removed == 0 || r.removed != r.added || r.bytes >= maxRunBytes {
		return
	}
	var removed, added []*hunkLine
	for i := range r.lines {
		switch l := &r.lines[i]; l.op {
		case '-':
			removed = append(removed, l)
		case '+':
			added = append(added, l)
		}
	}
	for i, old := range removed {
		fresh := added[i]
		old.from, old.to, fresh.to = ChangedSpan(old.text, fresh.text)
		fresh.from = old.from
	}
}

// ChangedSpan returns the difference of two versions of a line, in whole words: in the
// old one the bytes from up to oldTo, in the fresh one from up to freshTo. All are 0 when
// too much differs to be useful.
func ChangedSpan(old, fresh []byte) (from, oldTo, freshTo int) {
	head, tail := common(old, fresh)
	if 3*(head+tail) < max(len(old), len(fresh)) {
		return 0, 0, 0
	}
	return head, len(old) - tail, len(fresh) - tail
}

// common returns how many bytes at the beginning and the end of a and b are the same, in
// whole words; it never splits a character.
func common(a, b []byte) (head, tail int) {
	shorter := min(len(a), len(b))
	for head < shorter && a[head] == b[head] {
		head++
	}
	for head > 0 && inWord(a, head) || head > 0 && inWord(b, head) {
		head--
	}
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	for tail > 0 && (inWord(a, len(a)-tail) || inWord(b, len(b)-tail)) {
		tail--
	}
	return head, tail
}

// inWord reports whether a cut at i would split a word.
func inWord(text []byte, i int) bool {
	return i > 0 && i < len(text) && wordByte(text[i-1]) && wordByte(text[i])
}

// wordByte holds for all bytes of characters beyond ASCII, too.
func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c >= 0x80
}
