// Package eol detects and converts line endings by the rules of git.
package eol

import "bytes"

// LooksBinary reports whether git treats content as binary when it converts line endings
// (convert_is_binary). Git also counts a lone CR as binary; the caller checks for that.
func LooksBinary(content []byte) bool {
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

// Style is the kind of line endings in a text.
type Style int

const (
	None Style = iota
	LF
	CRLF
	Mixed
)

// Style summarizes the counted endings.
func (l Counter) Style() Style {
	switch {
	case l.Lf == 0:
		return None
	case l.Crlf == 0:
		return LF
	case l.Crlf == l.Lf:
		return CRLF
	}
	return Mixed
}

func StyleOf(text []byte) Style {
	var l Counter
	_, _ = l.Write(text)
	return l.Style()
}

// Prevailing returns the ending that most lines have.
func Prevailing(text []byte) Style {
	var l Counter
	_, _ = l.Write(text)
	if 2*l.Crlf > l.Lf {
		return CRLF
	}
	return LF
}

// ToCRLF returns text with LF converted to CRLF. The text must not contain CRLF.
func ToCRLF(text []byte) []byte { return bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")) }

// IsBinary reports whether git treats content as binary in differences.
func IsBinary(data []byte) bool { return bytes.IndexByte(data[:min(len(data), 8000)], 0) >= 0 }

// Counter is a writer that counts line endings.
type Counter struct {
	Lf, Crlf int64 // all newlines, and those after a carriage return
	cr       bool  // the last byte is a carriage return
}

func (l *Counter) Write(data []byte) (int, error) {
	l.Lf += int64(bytes.Count(data, []byte("\n")))
	l.Crlf += int64(bytes.Count(data, []byte("\r\n")))
	if l.cr && len(data) > 0 && data[0] == '\n' {
		l.Crlf++
	}
	if len(data) > 0 {
		l.cr = data[len(data)-1] == '\r'
	}
	return len(data), nil
}
