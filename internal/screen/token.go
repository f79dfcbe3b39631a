package screen

import (
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// kind is the kind of a token.
type kind int

const (
	text    kind = iota // printable ASCII, or one character beyond it
	control             // one of C0
	escape              // ESC, intermediate bytes, a final byte
	csi                 // ESC [, parameters, a final byte
	osc                 // ESC ], up to maxString bytes
	other               // DCS, APC, PM or SOS: nothing of them is kept but the kind
)

// token is one thing that a terminal is told (ECMA-48 §5). Its bytes are valid
// until the next.
type token struct {
	kind  kind
	text  []byte // of text and osc: the content; of escape: intermediates
	width int    // of text beyond ASCII, in columns
	param []byte // of csi: parameters with their prefix, then intermediates
	final byte   // of csi and escape; of control the byte; of other the introducer
}

const (
	maxSequence = 256     // a longer sequence is dropped
	maxString   = 4 << 10 // an OSC that asks for all colors is not longer
	maxEndless  = 1 << 20 // after so much, a string without an end is text again
	maxCluster  = 32      // bytes of one character with its marks
	maxRun      = 1 << 10 // bytes of printable ASCII in a token
)

// phase is where in a token the bytes are.
type phase int

const (
	ground phase = iota
	afterEscape
	inEscape
	inCSI
	inString
	inStringEscape
)

// tokens cuts an agent's bytes into tokens, whatever pieces they come in. The
// 8-bit controls are none here: in UTF-8 they are not characters.
type tokens struct {
	phase  phase
	intro  byte // of a string
	held   []byte
	size   int    // of a string
	broken bool   // the sequence is too long
	rest   []byte // a character beyond ASCII that may go on
}

// each visits the tokens of p.
func (t *tokens) each(p []byte, visit func(token)) {
	t.some(p, visit, func() bool { return true })
}

// some visits tokens of p for as long as more says so, and returns how many bytes it
// took: at least one, unless p is empty.
func (t *tokens) some(p []byte, visit func(token), more func() bool) int {
	all := len(p)
	for first := true; len(p) > 0; first = false {
		if !first && !more() {
			return all - len(p)
		}
		if t.phase == ground {
			if n := printable(p); n > 0 {
				t.endText(visit)
				visit(token{kind: text, text: p[:n]})
				p = p[n:]
				continue
			}
		}
		t.step(p[0], visit)
		p = p[1:]
	}
	// A character is shown as soon as it is whole. Marks that come in the next
	// piece are joined to it by the screen.
	if part := lastRune(t.rest); utf8.FullRune(part) || len(part) == 0 {
		t.endText(visit)
	}
	return all
}

// printable counts the printable ASCII at p's start, up to a token's.
func printable(p []byte) int {
	n := 0
	for n < min(len(p), maxRun) && p[n] >= 0x20 && p[n] < 0x7f {
		n++
	}
	return n
}

// step takes one byte that is not plain text.
func (t *tokens) step(c byte, visit func(token)) {
	if t.phase != ground && (c == 0x18 || c == 0x1a) { // CAN and SUB end anything
		t.phase = ground
		return
	}
	switch t.phase {
	case ground:
		t.inText(c, visit)
	case afterEscape, inEscape:
		t.escaped(c, visit)
	case inCSI:
		t.inCSI(c, visit)
	case inString:
		t.inString(c, visit)
	case inStringEscape:
		if c != '\\' { // the string was cut off by another sequence
			t.begin(afterEscape)
			t.escaped(c, visit)
			return
		}
		t.endString(visit)
	}
}

func (t *tokens) begin(p phase) { t.phase, t.held, t.broken, t.size = p, t.held[:0], false, 0 }

func (t *tokens) inText(c byte, visit func(token)) {
	switch {
	case c >= 0x80:
		t.beyondASCII(c, visit)
	case c == 0x1b:
		t.endText(visit)
		t.begin(afterEscape)
	case c != 0x7f:
		t.endText(visit)
		visit(token{kind: control, final: c})
	}
}

// escaped takes a byte of a sequence that begins with ESC.
func (t *tokens) escaped(c byte, visit func(token)) {
	switch {
	case c == 0x1b:
		t.begin(afterEscape)
	case c < 0x20: // controls act at once, even inside a sequence
		visit(token{kind: control, final: c})
	case c < 0x30:
		t.hold(c)
		t.phase = inEscape
	case c >= 0x7f:
		t.phase = ground
	case t.phase == afterEscape && c == '[':
		t.begin(inCSI)
	case t.phase == afterEscape && (c == ']' || c == 'P' || c == '_' || c == '^' || c == 'X'):
		t.begin(inString)
		t.intro = c
	default:
		t.phase = ground
		if !t.broken {
			visit(token{kind: escape, text: t.held, final: c})
		}
	}
}

func (t *tokens) inCSI(c byte, visit func(token)) {
	switch {
	case c == 0x1b:
		t.begin(afterEscape)
	case c < 0x20:
		visit(token{kind: control, final: c})
	case c < 0x40:
		t.hold(c)
	case c >= 0x7f:
		t.phase = ground
	default:
		t.phase = ground
		if !t.broken {
			visit(token{kind: csi, param: t.held, final: c})
		}
	}
}

func (t *tokens) hold(c byte) {
	if len(t.held) == maxSequence {
		t.broken = true
		return
	}
	t.held = append(t.held, c)
}

func (t *tokens) inString(c byte, visit func(token)) {
	t.size++
	switch {
	case c == 0x1b:
		t.phase = inStringEscape
	case c == 0x07 && t.intro == ']':
		t.endString(visit)
	case t.size > maxEndless:
		t.phase = ground
	case len(t.held) <= maxString:
		t.held = append(t.held, c)
	}
}

func (t *tokens) endString(visit func(token)) {
	t.phase = ground
	switch {
	case t.intro != ']':
		visit(token{kind: other, text: t.held, final: t.intro})
	case len(t.held) <= maxString:
		visit(token{kind: osc, text: t.held})
	}
}

// beyondASCII collects characters, since what follows may join them: marks, the
// second half of a flag, a family of emoji.
func (t *tokens) beyondASCII(c byte, visit func(token)) {
	t.rest = append(t.rest, c)
	if len(t.rest) >= maxSequence && utf8.FullRune(lastRune(t.rest)) {
		t.endText(visit)
	}
}

// endText gives up what was collected as text.
func (t *tokens) endText(visit func(token)) {
	rest := cleaned(t.rest)
	t.rest = t.rest[:0]
	for len(rest) > 0 {
		cluster, width := ansi.FirstGraphemeCluster(rest, ansi.GraphemeWidth)
		rest = rest[len(cluster):]
		visit(token{kind: text, text: shortened(cluster), width: min(width, 2)})
	}
}

// lastRune is the end of p that may be an incomplete character.
func lastRune(p []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if utf8.RuneStart(p[len(p)-n]) {
			return p[len(p)-n:]
		}
	}
	return p[len(p):]
}

// cleaned is text in which each character shows what it is: what is no UTF-8,
// turns the order of text around or is a control in disguise is replaced.
func cleaned(p []byte) []byte {
	out := make([]byte, 0, len(p))
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		if p = p[size:]; !showable(r) {
			r = utf8.RuneError
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

// shortened is a character with no more marks than fit maxCluster.
func shortened(cluster []byte) []byte {
	if len(cluster) <= maxCluster {
		return cluster
	}
	end := maxCluster
	for !utf8.RuneStart(cluster[end]) {
		end--
	}
	return cluster[:end]
}

// showable reports whether a terminal shows r and changes nothing else. The two
// joiners and the choice between text and picture belong to characters.
func showable(r rune) bool {
	switch {
	case r == 0x200c || r == 0x200d, r >= 0xfe00 && r <= 0xfe0f:
		return true
	}
	return unicode.IsGraphic(r) && r != 0x2028 && r != 0x2029
}
