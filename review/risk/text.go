package risk

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind classifies characters by their effect on a reader.
type kind int

// The kinds.
const (
	shown kind = iota
	bidi
	invisible
	control
	twin
	kinds
)

// unseen are invisible characters. Some scripts need some of them; see fitting.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00ad, 0x00ad, 1},
		{0x034f, 0x034f, 1},
		{0x115f, 0x1160, 1},
		{0x17b4, 0x17b5, 1},
		{0x180b, 0x180f, 1},
		{0x200b, 0x200d, 1},
		{0x2028, 0x2029, 1},
		{0x2060, 0x2065, 1},
		{0x206a, 0x206f, 1},
		{0x2800, 0x2800, 1},
		{0x3164, 0x3164, 1},
		{0xfe00, 0xfe0f, 1},
		{0xfeff, 0xfeff, 1},
		{0xffa0, 0xffa0, 1},
		{0xfff0, 0xfffb, 1},
	},
	R32: []unicode.Range32{{0x1bca0, 0x1bca3, 1}, {0x1d173, 0x1d17a, 1}, {0xe0000, 0xe0fff, 1}},
}

// kindOf classifies one character without its neighbors; a twin counts as visible.
func kindOf(r rune) kind {
	switch {
	case r < 0x20 && r != '\t' && r != '\n' && r != '\r' && r != '\f', r >= 0x7f && r <= 0x9f:
		return control
	case r < 0xad:
		return shown
	case r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069:
		return bidi
	case unicode.Is(unseen, r):
		return invisible
	}
	return shown
}

// sighting holds the characters of one kind that were found in the added lines.
type sighting struct {
	line  int // the first
	count int
	runes []rune // the first few different ones
}

// maxRunes is how many different characters a risk names.
const maxRunes = 4

func (s *sighting) add(r rune, number int) {
	if s.count++; s.count == 1 {
		s.line = number
	}
	if len(s.runes) < maxRunes && !bytes.ContainsRune([]byte(string(s.runes)), r) {
		s.runes = append(s.runes, r)
	}
}

// String names the characters by their numbers.
func (s *sighting) String() string {
	var names []string
	for _, r := range s.runes {
		names = append(names, fmt.Sprintf("U+%04X", r))
	}
	if s.count > 1 {
		return fmt.Sprintf("%s (%d in all)", strings.Join(names, ", "), s.count)
	}
	return strings.Join(names, ", ")
}

// look returns the judgment of a rule about characters of one kind.
func look(k kind) func(r *rule, f *File) []Risk {
	return func(r *rule, f *File) []Risk {
		if f.link() {
			return nil
		}
		f.readOnce.Do(f.read)
		seen := &f.seen[k]
		if seen.count == 0 {
			return nil
		}
		return r.one(seen.line, seen.String())
	}
}

// read reads the added lines once.
func (f *File) read() {
	if f.Binary && bytes.IndexByte(f.Text(), 0) >= 0 {
		return // data, not text: see hidden-diff. Git shows a file whose first NUL comes late as text.
	}
	plain := strings.HasSuffix(strings.ToLower(f.Path), ".py")
	for _, s := range f.stretches() {
		f.readSpan(s, plain)
	}
}

// readSpan checks every non-ASCII character.
func (f *File) readSpan(s span, python bool) {
	text, counted, number := s.text, 0, s.line
	var in word
	for i := 0; i < len(text); {
		c := text[i]
		if c >= 0x20 && c < 0x7f || c == '\n' || c == '\t' || c == '\f' {
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		k := kindOf(r)
		switch {
		case r == utf8.RuneError && size == 1: // not UTF-8, perhaps Latin-1
			k = shown
		case r == '\r':
			k = lone(text[i+1:])
		case k == invisible && fitting(text, i, size, r, s.line):
			k = shown
		case k == shown && mistaken(text, i, size, r, python, &in):
			k = twin
		}
		if k != shown {
			number += bytes.Count(text[counted:i], []byte("\n"))
			counted = i
			f.seen[k].add(r, number)
		}
		i += size
	}
}

// lone reports whether a carriage return is in the middle of a line, where a terminal
// overwrites the line's beginning.
func lone(rest []byte) kind {
	rest = bytes.TrimLeft(rest, "\r")
	if len(rest) == 0 || rest[0] == '\n' {
		return shown
	}
	return control
}

// fitting reports whether an invisible character is legitimate in its place: a byte order
// mark at the start, joiners between letters of scripts that need them and between emoji,
// one variation selector after a visible character.
func fitting(text []byte, at, size int, r rune, first int) bool {
	before, _ := utf8.DecodeLastRune(text[:at])
	after, _ := utf8.DecodeRune(text[at+size:])
	letter := func(r rune) bool { return r >= 0x0600 && (unicode.IsLetter(r) || unicode.IsMark(r)) }
	picture := func(r rune) bool {
		return unicode.Is(unicode.So, r) || r >= 0x1f3fb && r <= 0x1f3ff || r == 0x2640 || r == 0x2642 || r == 0xfe0f
	}
	switch {
	case r == 0xfeff:
		return at == 0 && first == 1
	case r == 0x200d && picture(before) && picture(after):
		return true
	case r == 0x200c, r == 0x200d:
		return letter(before) && letter(after) && !unicode.In(before, unicode.Latin, unicode.Hangul, unicode.Han)
	case r == 0x200b:
		return unicode.In(before, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan)
	case r >= 0x180b && r <= 0x180f:
		return unicode.Is(unicode.Mongolian, before)
	case r == 0x2800:
		return unicode.Is(unicode.Braille, before) || unicode.Is(unicode.Braille, after) && after != r
	case r == 0xfe0e || r == 0xfe0f:
		return picture(before) && before != 0xfe0f || unicode.Is(unicode.Sm, before) || unicode.Is(unicode.Po, before) || unicode.IsDigit(before) || before >= 0x2000 && before < 0x3300 && kindOf(before) == shown
	case r >= 0xfe00 && r <= 0xfe0d:
		return before >= 0x2200 && kindOf(before) == shown
	case r >= 0xe0100 && r <= 0xe01ef:
		return unicode.Is(unicode.Han, before)
	case r >= 0xe0020 && r <= 0xe007f: // the flags of England, Scotland and Wales
		return inFlag(text[:at])
	}
	return false
}

// inFlag reports whether text ends with a black flag and at most five tags.
func inFlag(text []byte) bool {
	for range 6 {
		r, size := utf8.DecodeLastRune(text)
		if r == 0x1f3f4 {
			return true
		}
		if r < 0xe0020 || r > 0xe007f {
			return false
		}
		text = text[:len(text)-size]
	}
	return false
}

// mistaken reports whether a character can be mistaken for an ASCII one with another
// meaning: a letter in a word that also has ASCII letters, or a sign right after some.
func mistaken(text []byte, at, size int, r rune, python bool, in *word) bool {
	ascii, ok := asciiOf(r)
	if !ok {
		return false
	}
	switch {
	case ascii == '-', ascii == '_', r >= 0xff01 && r <= 0xff20:
		return false
	case r == 0x037e:
		return at > 0 && text[at-1] > ' ' && text[at-1] < 0x7f
	case ascii == '.', ascii == '/':
		return at > 0 && isASCIILetter(text[at-1]) && at+size < len(text) && isASCIILetter(text[at+size])
	}
	if python && (r >= 0x1d400 || r >= 0xff21) {
		return true // Python reads it as the plain letter
	}
	return in.hasASCII(text, at, size)
}

// word is the last word that was checked.
type word struct {
	end   int
	ascii bool // it holds a letter of ASCII
}

// hasASCII reports whether the word around the letter at a place holds a letter of ASCII. The
// places must increase: each word is read once, since an agent can make one of a whole file.
func (w *word) hasASCII(text []byte, at, size int) bool {
	if at < w.end {
		return w.ascii
	}
	w.end, w.ascii = at+size, false
	for start := at; start > 0; {
		r, n := utf8.DecodeLastRune(text[:start])
		if !w.continues(r) {
			break
		}
		start -= n
	}
	for w.end < len(text) {
		r, n := utf8.DecodeRune(text[w.end:])
		if !w.continues(r) {
			break
		}
		w.end += n
	}
	return w.ascii
}

// continues reports whether a character is part of a word, and notes a letter of ASCII.
func (w *word) continues(r rune) bool {
	w.ascii = w.ascii || r < 0x80 && unicode.IsLetter(r)
	return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_'
}

func isASCIILetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
