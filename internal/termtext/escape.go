package termtext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape makes s one safe line. Control characters, invalid bytes, invisible and
// direction-changing characters, and too many marks on one character or on none become
// visible escapes (\n, \x1b, \u202e), and a backslash becomes two. Ordinary text in any
// script is unchanged.
func Escape(s string) string { return escape(s, false) }

// Text is Escape for text of several lines: newline, tab and backslash stay.
func Text(s string) string { return escape(s, true) }

func escape(s string, text bool) string {
	if plain(s, text) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	marks := maxMarks // no mark may follow yet, since there is no character before it
	for len(s) > 0 {
		if end := printable(s); end > 0 { // the same result as below, without tables
			b.WriteString(s[:end])
			marks = 0
			s = s[end:]
			continue
		}
		r, size := utf8.DecodeRuneInString(s)
		base := false
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case text && (r == '\n' || r == '\t' || r == '\\'):
			b.WriteRune(r)
			base = r == '\\'
		case unicode.Is(unicode.M, r) && marks < maxMarks && visible(r):
			b.WriteRune(r)
			marks++
			s = s[size:]
			continue
		case unicode.Is(unicode.M, r):
			escapeHex(&b, r)
		default:
			escapeRune(&b, r)
			base = visible(r) && r != '\\'
		}
		marks = maxMarks
		if base {
			marks = 0
		}
		s = s[size:]
	}
	return b.String()
}

// maxMarks is how many combining marks one character may have: more than any language uses,
// and too few to cover the lines above. A mark without a character would be drawn on
// aibox's own text before it, so it is escaped.
const maxMarks = 6

// plain reports whether s needs no escape at all: the common case.
func plain(s string, text bool) bool {
	for i := range len(s) {
		c := s[i]
		if c == '\\' && !text || c >= 0x7f || c < 0x20 && (!text || c != '\n' && c != '\t') {
			return false
		}
	}
	return true
}

// printable returns how many bytes at the beginning of s are printable ASCII characters other
// than the backslash.
func printable(s string) int {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '\\' {
			return i
		}
	}
	return len(s)
}

func escapeRune(b *strings.Builder, r rune) {
	switch {
	case r == '\\':
		b.WriteString(`\\`)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\t':
		b.WriteString(`\t`)
	case visible(r):
		b.WriteRune(r)
	default:
		escapeHex(b, r)
	}
}

func escapeHex(b *strings.Builder, r rune) {
	switch {
	case r < 0x80:
		fmt.Fprintf(b, `\x%02x`, r)
	case r <= 0xffff:
		fmt.Fprintf(b, `\u%04x`, r)
	default:
		fmt.Fprintf(b, `\U%08x`, r)
	}
}

// blank are letters and marks that are invisible.
var blank = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x034f, 0x034f, 1},
		{0x115f, 0x1160, 1},
		{0x17b4, 0x17b5, 1},
		{0x180b, 0x180f, 1},
		{0x2800, 0x2800, 1},
		{0x3164, 0x3164, 1},
		{0xfe00, 0xfe0f, 1},
		{0xffa0, 0xffa0, 1},
	},
	R32: []unicode.Range32{{0xe0000, 0xe0fff, 1}},
}

// visible reports whether r is shown by a terminal and changes nothing else.
func visible(r rune) bool {
	return unicode.IsPrint(r) && !unicode.Is(blank, r)
}

// misleading reports whether r changes the order of the text around it, or is a disguised
// control.
func misleading(r rune) bool {
	switch {
	case r >= 0x80 && r <= 0x9f, r == 0x2028, r == 0x2029:
		return true
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x206f:
		return true
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}
