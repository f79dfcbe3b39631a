package termtext

import (
	"io"
	"unicode/utf8"

	"aibox/internal/ctrlseq"
)

// Mode selects what a Filter passes on.
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

// maxSequence bounds the parameters of a sequence that passes, in bytes.
const maxSequence = 128

// Filter is an io.Writer that passes what its mode allows to the writer below
// and drops the rest. It keeps a sequence or a rune that is cut off between two
// writes. It is not safe for concurrent use.
type Filter struct {
	w     io.Writer
	mode  Mode
	in    ctrlseq.Tokenizer
	rest  []byte // an incomplete rune
	out   []byte
	style bool   // a style may be set
	lines *Lines // nil leaves the rows of the text unchanged
}

// NewFilter makes a Filter that writes to w.
func NewFilter(w io.Writer, mode Mode) *Filter { return &Filter{w: w, mode: mode} }

// Write filters p. It returns len(p) unless the writer below failed.
func (f *Filter) Write(p []byte) (int, error) {
	f.out = f.out[:0]
	for rest := p; len(rest) > 0; {
		token, n := f.in.Next(rest)
		f.take(token)
		rest = rest[n:]
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
	f.in.Reset()
	f.style = false
	if len(f.out) == 0 {
		return nil
	}
	_, err := f.w.Write(f.out)
	return err
}

// take passes a token or drops it.
func (f *Filter) take(t ctrlseq.Token) {
	if t.Kind != ctrlseq.NonASCII && t.Kind != ctrlseq.None {
		f.endRune()
	}
	switch t.Kind {
	case ctrlseq.Text:
		f.text(t.Data)
	case ctrlseq.NonASCII:
		for _, c := range t.Data {
			f.multibyte(c)
		}
	case ctrlseq.Control:
		f.in.Reset() // here a control ends a sequence, so that no text is lost
		f.control(t.Final)
	case ctrlseq.CSI:
		if f.mode == Stream && len(t.Data) <= maxSequence && allowed(t.Data, t.Final) {
			f.pass(t.Data, t.Final)
		}
	}
}

// pass passes a sequence.
func (f *Filter) pass(params []byte, final byte) {
	sequence := append(append([]byte("\x1b["), params...), final)
	f.style = f.style || final == 'm'
	switch {
	case f.lines == nil:
		f.out = append(f.out, sequence...)
	case final == 'm':
		f.out = f.lines.style(f.out, sequence)
	case len(params) == 0:
		f.out = f.lines.erase(f.out, '0')
	default:
		f.out = f.lines.erase(f.out, params[0])
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

// text passes printable ASCII.
func (f *Filter) text(data []byte) {
	if f.lines == nil {
		f.out = append(f.out, data...)
		return
	}
	for i, c := range data {
		f.out = f.lines.text(f.out, data[i:i+1], rune(c))
	}
}

// control passes a control that the mode allows.
func (f *Filter) control(c byte) {
	switch {
	case c != '\n' && c != '\t' && (c != '\r' && c != '\b' || f.mode != Stream):
	case f.lines != nil:
		f.out = f.lines.control(f.out, c)
	default:
		f.out = append(f.out, c)
	}
}

// multibyte collects the bytes of a rune.
func (f *Filter) multibyte(c byte) {
	if len(f.rest) == 0 && c < 0xc0 { // no rune begins with these bytes, which include the 8-bit controls
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

// endRune replaces an incomplete rune.
func (f *Filter) endRune() {
	if len(f.rest) > 0 {
		f.rest = f.rest[:0]
		f.replace()
	}
}

func (f *Filter) replace() { f.put([]byte(string(utf8.RuneError)), utf8.RuneError) }
