package termtext

import (
	"io"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// Lines separates the output of an agent from the rest of a terminal. Each row of it begins
// with a mark, and the agent's output can change neither the mark nor any row before. So no
// row without the mark is the agent's. Lines wraps the rows itself, since a terminal would
// wrap a long line to a row without a mark. The filters of all streams that one terminal
// shows share it. It is not safe for concurrent use.
type Lines struct {
	mark   string
	margin int // columns of the mark
	size   func() int
	wide   bool

	room  int    // columns of the row after the mark
	col   int    // upper bound of the cursor's column after the mark
	begun bool   // the row has its mark
	back  bool   // the cursor has to return to the row's beginning
	pen   []byte // the sequences that set the current style
}

// NewLines makes Lines. The mark is text of one column per rune; faint writes it in a faint
// style. size returns the terminal's width in columns, and is called for every row. wide is
// for terminals that draw characters of ambiguous width in two columns, as in East Asian
// locales.
func NewLines(mark string, faint bool, size func() int, wide bool) *Lines {
	l := &Lines{mark: mark, margin: utf8.RuneCountInString(mark), size: size, wide: wide}
	if faint {
		l.mark = "\x1b[2m" + mark + "\x1b[m"
	}
	return l
}

// maxPen bounds the sequences that set a style, in bytes. Programs reset theirs long
// before.
const maxPen = 256

// NewLineFilter makes a Filter of mode Stream that writes rows of lines to w.
func NewLineFilter(w io.Writer, lines *Lines) *Filter {
	return &Filter{w: w, mode: Stream, lines: lines}
}

// Break returns the bytes that end the agent's row, so that the next text is on a row
// without the mark and style; none if that is already so.
func (l *Lines) Break() []byte {
	var out []byte
	if len(l.pen) > 0 {
		out = append(out, "\x1b[m"...)
	}
	if l.begun {
		out = append(out, "\r\n"...)
	}
	l.begun, l.back, l.col = false, false, 0
	return out
}

// reset forgets the style, at the end of a stream.
func (l *Lines) reset() { l.pen = l.pen[:0] }

// text adds one character.
func (l *Lines) text(out, char []byte, r rune) []byte {
	columns := l.columns(r)
	if out = l.ready(out); l.col > 0 && l.col+columns > l.room {
		out = l.ready(l.newline(out))
	}
	l.col += columns
	return append(out, char...)
}

// columns returns the maximum width of a character in columns: a row that is wrapped too
// early is ugly, but one that the terminal wraps has no mark. So combining marks count, too.
func (l *Lines) columns(r rune) int {
	if r < 0x7f {
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	case width.EastAsianAmbiguous:
		if l.wide {
			return 2
		}
	}
	if r >= 0x1f000 { // pictures, whose width differs between terminals
		return 2
	}
	return 1
}

// control adds a newline, a tab, a return or a backspace.
func (l *Lines) control(out []byte, c byte) []byte {
	switch c {
	case '\n':
		return l.newline(l.ready(out))
	case '\r':
		l.back = l.begun
	case '\t':
		out = l.ready(out)
		for n := min(8-l.col%8, l.room-l.col); n > 0; n-- {
			out, l.col = append(out, ' '), l.col+1
		}
	case '\b':
		if out = l.ready(out); l.col > 0 {
			out, l.col = append(out, '\b'), l.col-1
		}
	}
	return out
}

// style adds SGR.
func (l *Lines) style(out, sequence []byte) []byte {
	if len(sequence) == len("\x1b[m") || string(sequence) == "\x1b[0m" {
		l.pen = l.pen[:0]
		return append(out, sequence...)
	}
	if len(l.pen)+len(sequence) > maxPen {
		l.pen = l.pen[:0]
		out = append(out, "\x1b[m"...)
	}
	l.pen = append(l.pen, sequence...)
	return append(out, sequence...)
}

// erase adds EL. An erasure that would reach the mark starts to the right of it.
func (l *Lines) erase(out []byte, what byte) []byte {
	if out = l.ready(out); what == '0' {
		return append(out, "\x1b[K"...)
	}
	col := l.col
	out = l.start(out)
	if what == '2' {
		out = append(out, "\x1b[K"...)
	}
	for range col {
		out = append(out, ' ')
	}
	l.col = col
	return out
}

// ready ensures that the row has its mark, and that the cursor is where the agent left it.
func (l *Lines) ready(out []byte) []byte {
	if l.begun && !l.back {
		return out
	}
	return l.start(out)
}

// start writes the mark of the row in its own style, and puts the cursor after it.
func (l *Lines) start(out []byte) []byte {
	if !l.begun {
		l.room = max(l.size()-l.margin, 2)
	}
	out = append(out, '\r')
	if len(l.pen) > 0 {
		out = append(out, "\x1b[m"...)
	}
	out = append(append(out, l.mark...), l.pen...)
	l.begun, l.back, l.col = true, false, 0
	return out
}

// newline ends the row, and first resets a style, which would color the new row.
func (l *Lines) newline(out []byte) []byte {
	if len(l.pen) > 0 {
		out = append(out, "\x1b[m"...)
	}
	l.begun, l.back, l.col = false, false, 0
	return append(out, "\r\n"...)
}
