// Package ctrlseq splits terminal output into text and control sequences (ECMA-48). It is
// made for hostile input: its memory is bounded, the input can arrive in pieces of any size,
// and no sequence can hide all further output. It never prints or interprets anything.
//
// It is written by hand because the parser of charmbracelet/x/ansi treats the bytes 0x80 to
// 0x9f as 8-bit controls, even inside UTF-8 text of an OSC, which then ends early. There, a
// string without an end swallows all further output, and a sequence with too many parameters
// is shortened and passed on instead of dropped.
package ctrlseq

// Kind is the kind of a token.
type Kind int

// The kinds.
const (
	None     Kind = iota // the input ended before a token did
	Text                 // printable ASCII
	NonASCII             // bytes from 0x80 on: parts of characters, or invalid
	Control              // a C0 control or DEL; it can occur inside a sequence
	Escape               // ESC, intermediates, a final byte
	CSI                  // ESC [, parameters, intermediates, a final byte
	OSC                  // ESC ], a string, BEL or ST
	String               // DCS, APC, PM or SOS with its string and ST
	Invalid              // a sequence that is too long or was interrupted
)

// Token is a piece of terminal output.
type Token struct {
	Kind Kind
	// Data is the text, the parameters and intermediates, or the string. It is valid
	// until the next call of Next.
	Data []byte
	// Final is the last byte of an Escape or CSI, the byte of a Control, and the byte
	// after ESC that introduces a String.
	Final byte
}

// The limits of tokens, in bytes.
const (
	MaxSequence = 256     // of Data of Escape and CSI; longer ones are Invalid
	MaxString   = 4 << 10 // of Data of OSC, longer ones are Invalid; of String, longer ones are cut
	MaxText     = 1 << 10 // of Data of Text and NonASCII
	maxEndless  = 1 << 20 // after this much, a string without an end is Invalid
)

// state is the position within a sequence.
type state int

const (
	ground state = iota
	afterEscape
	inEscape
	inCSI
	inString
	inStringEscape
)

// Tokenizer splits a stream of bytes. The zero value is ready. It is not safe for
// concurrent use.
type Tokenizer struct {
	state state
	intro byte // of a string
	data  []byte
	size  int  // of a string
	long  bool // the sequence is longer than MaxSequence
}

// Next returns the first token that ends in p, and the number of bytes of p that it used.
// The kind None means that p ends inside a token; it uses all of p.
func (t *Tokenizer) Next(p []byte) (token Token, n int) {
	for n < len(p) {
		if t.state == ground {
			if token := run(p[n:]); token.Kind != None {
				return token, n + len(token.Data)
			}
		}
		token, again := t.step(p[n])
		if !again {
			n++
		}
		if token.Kind != None {
			return token, n
		}
	}
	return Token{}, n
}

// Reset abandons the current sequence: the following bytes are text.
func (t *Tokenizer) Reset() { t.state = ground }

// run returns the text at the start of p.
func run(p []byte) Token {
	kind := kindOf(p[0])
	if kind == None {
		return Token{}
	}
	n := 1
	for n < min(len(p), MaxText) && kindOf(p[n]) == kind {
		n++
	}
	return Token{Kind: kind, Data: p[:n]}
}

// kindOf returns the kind of text a byte belongs to, None for controls.
func kindOf(c byte) Kind {
	switch {
	case c >= 0x80:
		return NonASCII
	case c >= 0x20 && c < 0x7f:
		return Text
	default:
		return None
	}
}

// step processes one byte that is not text. again means that the byte ended a sequence
// without being part of it.
func (t *Tokenizer) step(c byte) (token Token, again bool) {
	if t.state != ground && (c == 0x18 || c == 0x1a) { // CAN and SUB end anything
		return t.invalid(), false
	}
	switch t.state {
	case afterEscape, inEscape:
		return t.escaped(c)
	case inCSI:
		return t.inCSI(c)
	case inString:
		return t.inString(c), false
	case inStringEscape:
		if c == '\\' {
			return t.endString(), false
		}
		t.begin(afterEscape) // another sequence ends the string
		return t.escaped(c)
	}
	if c == 0x1b {
		t.begin(afterEscape)
		return Token{}, false
	}
	return Token{Kind: Control, Final: c}, false
}

func (t *Tokenizer) begin(s state) { t.state, t.data, t.long, t.size = s, t.data[:0], false, 0 }

func (t *Tokenizer) invalid() Token {
	t.state = ground
	return Token{Kind: Invalid}
}

// escaped processes a byte of a sequence that begins with ESC.
func (t *Tokenizer) escaped(c byte) (token Token, again bool) {
	switch {
	case c == 0x1b:
		t.begin(afterEscape)
	case c < 0x20: // controls act at once, even inside a sequence
		return Token{Kind: Control, Final: c}, false
	case c < 0x30:
		t.hold(c)
		t.state = inEscape
	case c >= 0x7f:
		return t.invalid(), c != 0x7f
	case t.state == afterEscape && c == '[':
		t.begin(inCSI)
	case t.state == afterEscape && (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X'):
		t.begin(inString)
		t.intro = c
	default:
		return t.end(Escape, c), false
	}
	return Token{}, false
}

func (t *Tokenizer) inCSI(c byte) (token Token, again bool) {
	switch {
	case c == 0x1b:
		t.begin(afterEscape)
	case c < 0x20:
		return Token{Kind: Control, Final: c}, false
	case c < 0x40:
		t.hold(c)
	case c >= 0x7f:
		return t.invalid(), c != 0x7f
	default:
		return t.end(CSI, c), false
	}
	return Token{}, false
}

func (t *Tokenizer) hold(c byte) {
	if len(t.data) == MaxSequence {
		t.long = true
		return
	}
	t.data = append(t.data, c)
}

// end ends an Escape or CSI.
func (t *Tokenizer) end(kind Kind, final byte) Token {
	if t.long {
		return t.invalid()
	}
	t.state = ground
	return Token{Kind: kind, Data: t.data, Final: final}
}

func (t *Tokenizer) inString(c byte) Token {
	t.size++
	switch {
	case c == 0x1b:
		t.state = inStringEscape
	case c == 0x07 && t.intro == ']':
		return t.endString()
	case t.size > maxEndless:
		return t.invalid()
	case len(t.data) < MaxString:
		t.data = append(t.data, c)
	default:
		t.long = true
	}
	return Token{}
}

func (t *Tokenizer) endString() Token {
	t.state = ground
	switch {
	case t.intro != ']':
		return Token{Kind: String, Data: t.data, Final: t.intro}
	case t.long:
		return Token{Kind: Invalid}
	default:
		return Token{Kind: OSC, Data: t.data}
	}
}
