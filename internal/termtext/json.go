package termtext

import (
	"fmt"
	"io"
	"slices"
	"unicode"
	"unicode/utf8"
)

// JSON writes JSON to a writer and makes it safe to show. Characters in strings that Escape
// would escape become escapes of JSON (RFC 8259, section 7), with surrogates above the
// Basic Multilingual Plane, so that a program reads the same values. A byte that is not
// UTF-8 becomes \ufffd, which is how a decoder would read it. The input must be valid JSON
// except for such bytes, in writes of any size. It is not safe for concurrent use.
type JSON struct {
	out   io.Writer
	carry []byte // the beginning of a character
	marks int    // marks that may follow, as in Escape
}

// NewJSON returns a JSON that writes to out, with one write for each call of Write.
func NewJSON(out io.Writer) *JSON { return &JSON{out: out, marks: maxMarks} }

// Write writes the complete characters in p, and keeps the rest for the next call.
func (j *JSON) Write(p []byte) (int, error) {
	data := p
	if len(j.carry) > 0 {
		data = slices.Concat(j.carry, p)
	}
	whole := len(data) - cut(data)
	j.carry = slices.Clone(data[whole:])
	if _, err := j.out.Write(j.escape(data[:whole])); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes the rest. It does not close the writer below.
func (j *JSON) Close() error {
	rest := j.carry
	j.carry = nil
	if len(rest) == 0 {
		return nil
	}
	_, err := j.out.Write(j.escape(rest))
	return err
}

// cut returns the length of an incomplete character at the end of data.
func cut(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		tail := data[len(data)-n:]
		if utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// escape returns data with escapes; data itself if it needs none.
func (j *JSON) escape(data []byte) []byte {
	if !slices.ContainsFunc(data, func(c byte) bool { return c >= 0x7f }) {
		if len(data) > 0 {
			j.marks = marksAfter(data[len(data)-1])
		}
		return data
	}
	out := make([]byte, 0, len(data)+len(data)/4)
	for len(data) > 0 {
		if c := data[0]; c < 0x7f {
			out = append(out, c)
			j.marks = marksAfter(c)
			data = data[1:]
			continue
		}
		r, size := utf8.DecodeRune(data)
		out = j.rune(out, r, size)
		data = data[size:]
	}
	return out
}

// marksAfter returns how many marks may follow an ASCII character. None may follow a
// quotation mark, since it delimits the string.
func marksAfter(c byte) int {
	if c == '"' || c <= ' ' {
		return maxMarks
	}
	return 0
}

// rune appends a non-ASCII character of that many bytes.
func (j *JSON) rune(out []byte, r rune, size int) []byte {
	mark := unicode.Is(unicode.M, r)
	switch {
	case r == utf8.RuneError && size == 1:
	case mark && j.marks < maxMarks && visible(r):
		j.marks++
		return utf8.AppendRune(out, r)
	case !mark && visible(r):
		j.marks = 0
		return utf8.AppendRune(out, r)
	}
	j.marks = maxMarks
	return appendJSONEscape(out, r)
}

// appendJSONEscape appends \uXXXX, twice above the Basic Multilingual Plane.
func appendJSONEscape(out []byte, r rune) []byte {
	if r <= 0xffff {
		return fmt.Appendf(out, `\u%04x`, r)
	}
	r -= 0x10000
	return fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
}
