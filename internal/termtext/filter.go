package termtext

import (
	"io"
	"unicode/utf8"
)

// Mode says what a Filter lets through.
type Mode int

// The modes. The zero value is the strictest.
const (
	// Plain passes text, newline and tab only: for diffs, logs and files.
	Plain Mode = iota
	// Stream passes also carriage return, backspace, colors and styles (SGR)
	// and erasing within the line (EL): for the output of an agent that is
	// followed line by line.
	Stream
)

const (
	maxSequence = 128     // a longer CSI sequence is dropped
	maxString   = 1 << 20 // after so much, a string without an end is text again
)

// state is where in a control sequence the filter is (ECMA-48).
type state int

const (
	ground  state = iota
	escaped       // after ESC
	inter         // after ESC and an intermediate byte
	csi           // after ESC [
	str           // in OSC, DCS, APC, PM or SOS
	strEsc        // after ESC in one of them
)

// Filter is an io.Writer that passes what its mode allows to the writer below
// and drops the rest. It keeps a sequence or a rune that is cut off between two
// writes. It is not safe for concurrent use.
type Filter struct {
	w     io.Writer
	mode  Mode
	state state
	seq   []byte // parameters of the sequence under way
	long  bool   // it is longer than maxSequence
	size  int    // bytes of the string under way
	rest  []byte // an incomplete rune
	out   []byte
	style bool   // a style may be set
	lines *Lines // nil: the text goes on as it is
}

// NewFilter makes a Filter that writes to w.
func NewFilter(w io.Writer, mode Mode) *Filter { return &Filter{w: w, mode: mode} }

// Write filters p. It returns len(p) unless the writer below failed.
func (f *Filter) Write(p []byte) (int, error) {
	f.out = f.out[:0]
	for _, c := range p {
		f.step(c)
	}
	if len(f.out) == 0 {
		return len(p), nil
	}
	if _, err := f.w.Write(f.out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close ends the stream: an incomplete sequence is dropped, an incomplete rune
// becomes U+FFFD, and colors are reset if any was set. It does not close the
// writer below.
func (f *Filter) Close() error {
	f.out = f.out[:0]
	f.endRune()
	if f.lines != nil {
		f.out = append(f.out, f.lines.Break()...)
		f.lines.reset()
	} else if f.style {
		f.out = append(f.out, "\x1b[m"...)
	}
	f.state, f.style = ground, false
	if len(f.out) == 0 {
		return nil
	}
	_, err := f.w.Write(f.out)
	return err
}

// step takes one byte.
func (f *Filter) step(c byte) {
	switch f.state {
	case ground:
		f.text(c)
	case escaped:
		f.afterEscape(c)
	case inter:
		if c < 0x20 || c > 0x2f {
			f.leave(c, c >= 0x30 && c <= 0x7e)
		}
	case csi:
		f.inCSI(c)
	case str:
		f.inString(c)
	case strEsc:
		if c == '\\' {
			f.state = ground
			return
		}
		f.state = escaped
		f.afterEscape(c)
	}
}

// leave ends a sequence; a byte that did not belong to it is looked at again.
func (f *Filter) leave(c byte, belongs bool) {
	f.state = ground
	if !belongs {
		f.text(c)
	}
}

func (f *Filter) afterEscape(c byte) {
	switch {
	case c == '[':
		f.state, f.seq, f.long = csi, f.seq[:0], false
	case c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X':
		f.state, f.size = str, 0
	case c == 0x1b:
	case c >= 0x20 && c <= 0x2f:
		f.state = inter
	default:
		f.leave(c, c >= 0x30 && c <= 0x7e)
	}
}

func (f *Filter) inCSI(c byte) {
	switch {
	case c >= 0x20 && c <= 0x3f:
		if len(f.seq) == maxSequence {
			f.long = true
			return
		}
		f.seq = append(f.seq, c)
	case c >= 0x40 && c <= 0x7e:
		f.state = ground
		if f.mode == Stream && !f.long && allowed(f.seq, c) {
			f.pass(c)
		}
	default:
		f.leave(c, false)
	}
}

// pass passes the sequence that ends with c.
func (f *Filter) pass(c byte) {
	sequence := append(append([]byte("\x1b["), f.seq...), c)
	f.style = f.style || c == 'm'
	switch {
	case f.lines == nil:
		f.out = append(f.out, sequence...)
	case c == 'm':
		f.out = f.lines.style(f.out, sequence)
	default:
		f.out = f.lines.erase(f.out, append(f.seq, '0')[0])
	}
}

// allowed reports whether a CSI sequence does no more than style text (SGR) or
// erase in the line (EL).
func allowed(params []byte, final byte) bool {
	switch final {
	case 'm':
		for _, c := range params {
			if (c < '0' || c > '9') && c != ';' && c != ':' {
				return false
			}
		}
		return true
	case 'K':
		return len(params) == 0 || len(params) == 1 && params[0] >= '0' && params[0] <= '2'
	}
	return false
}

func (f *Filter) inString(c byte) {
	f.size++
	switch {
	case c == 0x07 || c == 0x18 || c == 0x1a || f.size > maxString:
		f.state = ground
	case c == 0x1b:
		f.state = strEsc
	}
}

// text takes one byte outside any sequence.
func (f *Filter) text(c byte) {
	if len(f.rest) > 0 && c&0xc0 != 0x80 {
		f.endRune()
	}
	switch {
	case c == 0x1b:
		f.state = escaped
	case c >= 0x20 && c < 0x7f:
		f.put([]byte{c}, rune(c))
	case c == '\n' || c == '\t' || (c == '\r' || c == '\b') && f.mode == Stream:
		if f.lines != nil {
			f.out = f.lines.control(f.out, c)
		} else {
			f.out = append(f.out, c)
		}
	case c >= 0x80:
		f.multibyte(c)
	}
}

// multibyte collects the bytes of a rune.
func (f *Filter) multibyte(c byte) {
	if len(f.rest) == 0 && c < 0xc0 { // no rune begins so; the 8-bit controls are among these
		if c > 0x9f {
			f.replace()
		}
		return
	}
	f.rest = append(f.rest, c)
	if !utf8.FullRune(f.rest) {
		return
	}
	r, size := utf8.DecodeRune(f.rest)
	switch {
	case r == utf8.RuneError && size == 1:
		f.rest = f.rest[:0]
		f.replace()
		return
	case misleading(r):
		f.replace()
	default:
		f.put(f.rest, r)
	}
	f.rest = f.rest[:0]
}

// put passes one character.
func (f *Filter) put(char []byte, r rune) {
	if f.lines != nil {
		f.out = f.lines.text(f.out, char, r)
	} else {
		f.out = append(f.out, char...)
	}
}

// endRune gives up a rune that was cut off.
func (f *Filter) endRune() {
	if len(f.rest) > 0 {
		f.rest = f.rest[:0]
		f.replace()
	}
}

func (f *Filter) replace() { f.put([]byte(string(utf8.RuneError)), utf8.RuneError) }
