package review

import "bytes"

// looksBinary is git's guess where line endings are concerned (convert_is_binary).
// Content with a lone CR counts as binary there; the caller has none.
func looksBinary(content []byte) bool {
	printable, odd := 0, 0
	for i, c := range content {
		switch {
		case c == 0:
			return true
		case c == '\n':
		case c == '\b', c == '\t', c == '\f', c == 0x1b:
			printable++
		case c < 0x20 && (c != 0x1a || i < len(content)-1), c == 0x7f:
			odd++
		case c >= 0x20:
			printable++
		}
	}
	return printable>>7 < odd
}

// lineStyle is how the lines of a text end.
type lineStyle int

const (
	noLines lineStyle = iota
	lfLines
	crlfStyle
	mixedLines
)

// style sums up the endings that were counted.
func (l lineEnds) style() lineStyle {
	switch {
	case l.lf == 0:
		return noLines
	case l.crlf == 0:
		return lfLines
	case l.crlf == l.lf:
		return crlfStyle
	}
	return mixedLines
}

func styleOf(text []byte) lineStyle {
	var l lineEnds
	_, _ = l.Write(text)
	return l.style()
}

// most is the ending that most lines have.
func most(text []byte) lineStyle {
	var l lineEnds
	_, _ = l.Write(text)
	if 2*l.crlf > l.lf {
		return crlfStyle
	}
	return lfLines
}

// crlfLines is text with LF turned into CRLF; it has no CRLF.
func crlfLines(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) }

// isBinary is git's guess where differences are concerned.
func isBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }

// lineEnds counts the line endings of what is written to it.
type lineEnds struct {
	lf, crlf int64 // newlines in all, and those behind a carriage return
	cr       bool  // the last byte so far is one
}

func (l *lineEnds) Write(data []byte) (int, error) {
	l.lf += int64(bytes.Count(data, []byte("\n")))
	l.crlf += int64(bytes.Count(data, []byte("\r\n")))
	if l.cr && len(data) > 0 && data[0] == '\n' {
		l.crlf++
	}
	if len(data) > 0 {
		l.cr = data[len(data)-1] == '\r'
	}
	return len(data), nil
}
