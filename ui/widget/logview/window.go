package logview

import (
	"strings"

	"aibox/session/output"

	"github.com/charmbracelet/x/ansi"
)

// maxLines is the maximum number of lines in memory. Beyond it, the lines farthest from
// the screen are dropped.
const maxLines = 20_000

// window is the part of the log in memory: all lines that begin in [lo, hi).
type window struct {
	lines  []line
	lo, hi int64
	reader lineReader // reads on from hi
	total  int64      // recorded bytes, as far as known

	top, row int  // the first row shown: a line, and a row of it
	follow   bool // stay at the end as the log grows
	width    int
	height   int
}

// replace shows another part of the log, which begins at lo.
func (w *window) replace(lo int64, chunks []output.Chunk) {
	w.lines, w.lo, w.hi, w.reader, w.top, w.row = nil, lo, lo, lineReader{}, 0, 0
	for _, chunk := range chunks {
		w.feed(chunk)
	}
}

// feed adds the next chunk. A chunk that does not continue the window, or that is in it
// already, only updates the total.
func (w *window) feed(chunk output.Chunk) {
	end := chunk.Offset + int64(len(chunk.Data))
	w.total = max(w.total, end)
	if chunk.Offset > w.hi || end <= w.hi {
		return
	}
	if !w.follow && len(w.lines) > 2*maxLines {
		return // the user is far above; it is read again when they scroll down
	}
	chunk.Data = chunk.Data[w.hi-chunk.Offset:]
	chunk.Offset = w.hi
	w.lines = append(w.lines, w.reader.feed(chunk)...)
	w.hi = end
	if over := len(w.lines) - maxLines; over > maxLines/10 && (w.follow || w.top >= over) {
		w.lines = append([]line(nil), w.lines[over:]...)
		w.lo, w.top = w.lines[0].at, max(0, w.top-over)
	}
}

// prepend adds the part before lo, which begins at from.
func (w *window) prepend(from int64, chunks []output.Chunk) {
	var reader lineReader
	var before []line
	for _, chunk := range chunks {
		before = append(before, reader.feed(chunk)...)
	}
	before = append(before, reader.rest()...)
	w.lines = append(before, w.lines...)
	w.lo, w.top = from, w.top+len(before)
	if over := len(w.lines) - maxLines; over > maxLines/10 && w.top+w.height < maxLines && !w.follow {
		w.hi, w.reader = w.lines[maxLines].at, lineReader{}
		w.lines = w.lines[:maxLines:maxLines]
	}
}

// complete reports whether the last line of the log is in memory.
func (w *window) complete() bool { return w.hi >= w.total }

// all returns every line, with the incomplete ones.
func (w *window) all() []line {
	if rest := w.reader.rest(); len(rest) > 0 {
		return append(w.lines[:len(w.lines):len(w.lines)], rest...)
	}
	return w.lines
}

// rows wraps a line. Each row sets the styles it needs.
func (w *window) rows(l line) []string {
	width := max(1, w.width)
	if len(l.text) <= width && !strings.Contains(l.text, "\x1b") {
		return []string{l.text}
	}
	rows := strings.Split(ansi.Wrap(l.text, width, ""), "\n")
	style := ""
	for i, row := range rows {
		begin := style
		for text := row; text != ""; {
			var cluster string
			if cluster, text = next(text); strings.HasPrefix(cluster, "\x1b") {
				style = restyle(style, cluster)
			}
		}
		rows[i] = begin + row
		if style != "" {
			rows[i] += ansi.ResetStyle
		}
	}
	return rows
}

// shown is a row on the screen.
type shown struct {
	line line
	text string
}

// view returns the rows on the screen, at most height.
func (w *window) view() []shown {
	lines := w.all()
	if w.follow {
		w.last(lines)
	}
	var out []shown
	skip := w.row
	for i := w.top; i < len(lines) && len(out) < w.height; i++ {
		for _, text := range w.rows(lines[i]) {
			if skip > 0 {
				skip--
				continue
			}
			if out = append(out, shown{lines[i], text}); len(out) == w.height {
				break
			}
		}
	}
	return out
}

// last scrolls so that the last row is at the bottom of the screen.
func (w *window) last(lines []line) {
	w.top, w.row = len(lines), 0
	for need := w.height; need > 0 && w.top > 0; {
		w.top--
		n := len(w.rows(lines[w.top]))
		if n > need {
			w.row = n - need
		}
		need -= n
	}
}

// up scrolls up by n rows.
func (w *window) up(n int) {
	lines := w.all()
	w.follow = false
	for ; n > 0; n-- {
		switch {
		case w.row > 0:
			w.row--
		case w.top > 0:
			w.top--
			w.row = len(w.rows(lines[min(w.top, len(lines)-1)])) - 1
		default:
			return
		}
	}
}

// down scrolls down by n rows. At the end of the log it starts to follow.
func (w *window) down(n int) {
	if w.follow {
		return
	}
	lines := w.all()
	for ; n > 0 && w.top < len(lines); n-- {
		if w.row++; w.row >= len(w.rows(lines[w.top])) {
			w.top, w.row = w.top+1, 0
		}
	}
	if w.fill(lines) {
		w.follow = w.complete()
	}
}

// fill scrolls up if there are empty rows below the last line, and reports whether the
// last row is shown.
func (w *window) fill(lines []line) bool {
	end := *w
	end.last(lines)
	if w.top < end.top || w.top == end.top && w.row < end.row {
		return false
	}
	w.top, w.row = end.top, end.row
	return true
}

// reveal shows the line at an offset, a third down the screen if enough lines follow, and
// reports whether it is in memory.
func (w *window) reveal(at int64) bool {
	for i, l := range w.all() {
		if l.at == at {
			w.follow, w.top, w.row = false, i, 0
			w.up(w.height / 3)
			w.fill(w.all())
			return true
		}
	}
	return false
}

// at returns the offset of the first line on the screen.
func (w *window) at() int64 {
	lines := w.all()
	if w.follow {
		w.last(lines)
	}
	if w.top < len(lines) {
		return lines[w.top].at
	}
	return w.hi
}
