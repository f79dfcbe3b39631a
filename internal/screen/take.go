package screen

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"aibox/internal/ctrlseq"

	uv "github.com/charmbracelet/ultraviolet"
)

// take carries out one token.
func (s *Screen) take(t token) {
	if t.Kind != ctrlseq.Text && (t.Kind != ctrlseq.CSI || t.Final != 'm') {
		s.wrap = false
	}
	switch t.Kind {
	case ctrlseq.Text:
		s.write(t)
	case ctrlseq.Control:
		s.control(t.Final)
	case ctrlseq.Escape:
		s.escape(string(t.Data) + string(t.Final))
	case ctrlseq.CSI:
		s.csi(t)
	case ctrlseq.OSC:
		s.osc(string(t.Data))
	case ctrlseq.String:
		s.refuse(t)
	}
}

// tell passes a sequence to the current emulator.
func (s *Screen) tell(format string, args ...any) { fmt.Fprintf(s.current(), format, args...) }

// tellBoth passes a sequence to both emulators, for settings of both screens: colors,
// character sets, modes.
func (s *Screen) tellBoth(format string, args ...any) {
	fmt.Fprintf(s.main, format, args...)
	fmt.Fprintf(s.alt, format, args...)
}

// write writes text at the cursor.
func (s *Screen) write(t token) {
	e := s.current()
	if s.wrap {
		s.wrap = false
		s.tell("\r\n")
	}
	if t.width == 0 && t.Data[0] >= utf8.RuneSelf {
		s.join(t.Data)
		return
	}
	if s.modes.insert {
		s.tell("\x1b[%d@", min(max(t.width, len(t.Data)), s.size.Cols))
	}
	if t.width == 2 && s.modes.autowrap {
		switch s.size.Cols - e.CursorPosition().X {
		case 1: // it does not fit into the last column
			s.tell("\r\n")
		case 2:
			s.wrap = true
		}
	}
	_, _ = e.Write(t.Data)
}

// join adds a mark to the character before the cursor.
func (s *Screen) join(mark []byte) {
	e := s.current()
	at := e.CursorPosition()
	for back := 1; back <= 2; back++ {
		cell := e.CellAt(at.X-back, at.Y)
		if cell == nil {
			return
		}
		if cell.Width == back && len(cell.Content)+len(mark) <= maxCluster {
			joined := *cell
			joined.Content += string(mark)
			e.SetCell(at.X-back, at.Y, &joined)
			return
		}
	}
}

// control is a C0 control. The bell is not passed on, since an agent could ring it without
// end. Rang reports it.
func (s *Screen) control(c byte) {
	switch c {
	case '\a':
		s.rang = true
	case '\b', '\t', '\n', '\v', '\f', '\r':
		s.tell("%c", c)
	case 0x0e, 0x0f: // shift out and in
		s.tellBoth("%c", c)
	}
}

// escape is a sequence that begins with ESC; rest is the part after it.
func (s *Screen) escape(rest string) {
	switch rest {
	case "7", "8", "D", "H", "M":
		s.tell("\x1b%s", rest)
	case "E":
		s.tell("\r\n")
	case "c":
		s.tellBoth("\x1bc")
		s.modes, s.onAlt = powerOn(), false
	case "=", ">":
		s.modes.keypad = rest == "="
	case "n", "o", "|", "}", "~",
		"(A", ")A", "*A", "+A", "(B", ")B", "*B", "+B", "(0", ")0", "*0", "+0":
		s.tellBoth("\x1b%s", rest)
	}
}

// csi is a control sequence. Only the sequences that are listed here reach the emulator,
// with numbers that fit the screen, since x/vt trusts them.
func (s *Screen) csi(t token) {
	prefix, numbers, inter := split(t.Data)
	p := parameters(numbers)
	switch prefix + inter + string(t.Final) {
	case "@", "A", "B", "C", "D", "E", "F", "G", "I", "L", "M", "P", "S", "T", "X", "Z", "`", "a", "d", "e":
		s.tell("\x1b[%d%c", min(p.at(0, 1), s.bound(t.Final)), t.Final)
	case "b": // repeats the last character
		s.repeat(p.at(0, 1))
	case "H", "f":
		s.tell("\x1b[%d;%dH", min(p.at(0, 1), s.size.Rows), min(p.at(1, 1), s.size.Cols))
	case "J", "?J":
		s.erase(p.at(0, 0))
	case "K", "?K":
		s.tell("\x1b[%dK", p.at(0, 0))
	case "g":
		s.tellBoth("\x1b[%dg", p.at(0, 0))
	case "m":
		s.tellBoth("\x1b[%sm", numbers)
	case "r":
		top, bottom := p.at(0, 1), min(p.at(1, s.size.Rows), s.size.Rows)
		if top < bottom {
			s.region = true
			s.tell("\x1b[%d;%dr", top, bottom)
		}
	case "s":
		s.tell("\x1b7")
	case "u":
		s.tell("\x1b8")
	case "!p":
		s.softReset()
	case " q":
		s.modes.shape = min(p.at(0, 0), 6)
	case "h", "l", "?h", "?l":
		for i := range min(len(p), maxModes) {
			s.setMode(prefix == "?", p.at(i, 0), t.Final == 'h')
		}
	default:
		s.query(prefix+inter+string(t.Final), p)
	}
}

// repeat is REP. It stops at the end of the line, as in VTE: its purpose needs no more, and
// a few bytes must not fill and scroll a whole screen.
func (s *Screen) repeat(n int) {
	if n = min(n, s.size.Cols-s.current().CursorPosition().X); n > 0 {
		s.tell("\x1b[%db", n)
	}
}

// maxModes is how many modes one sequence may switch.
const maxModes = 16

// bound returns the largest number that makes a difference for a control sequence.
func (s *Screen) bound(final byte) int {
	if strings.IndexByte("ABEFLMSTde", final) >= 0 {
		return s.size.Rows
	}
	return s.size.Cols
}

// erase is ED. The whole screen is erased in two halves, since x/vt would otherwise keep
// the erased lines. Erasing the scrollback (3) does nothing, since there is none.
func (s *Screen) erase(what int) {
	switch what {
	case 0, 1:
		s.tell("\x1b[%dJ", what)
	case 2:
		s.tell("\x1b[1J\x1b[0J")
	}
}

// softReset is DECSTR.
func (s *Screen) softReset() {
	fresh := powerOn()
	fresh.alt, fresh.mouse, fresh.sgrMouse, fresh.focus, fresh.paste = s.modes.alt, s.modes.mouse, s.modes.sgrMouse, s.modes.focus, s.modes.paste
	s.modes = fresh
	s.tellBoth("\x1b[m\x1b[?6l\x1b[?7h\x1b[20l\x1b(B\x1b)B\x0f\x1b7\x1b[r\x1b8")
}

// numbers are a control sequence's parameters.
type numbers []int

// at returns the parameter i, or fallback when it is missing, empty or 0. For no supported
// sequence is 0 different from missing if fallback is not 0.
func (n numbers) at(i, fallback int) int {
	if i >= len(n) || n[i] == 0 {
		return fallback
	}
	return n[i]
}

// split splits a control sequence. Numbers are digits, semicolons and colons. inter is
// "invalid" if they contain anything else, or are larger than any terminal accepts.
func split(param []byte) (prefix, numbers, inter string) {
	text := string(param)
	if text != "" && text[0] >= '<' {
		prefix, text = text[:1], text[1:]
	}
	if end := strings.IndexFunc(text, func(r rune) bool { return r < '0' }); end >= 0 {
		text, inter = text[:end], text[end:]
	}
	digits := 0
	for _, c := range text {
		if digits++; c == ';' || c == ':' {
			digits = 0
		}
		if c > ';' || digits > 5 {
			return prefix, "", "invalid"
		}
	}
	return prefix, text, inter
}

// parameters reads numbers. A missing one is 0, and sub-parameters count as parameters.
func parameters(text string) numbers {
	if text == "" {
		return nil
	}
	parts := strings.Split(strings.ReplaceAll(text, ":", ";"), ";")
	n := make(numbers, len(parts))
	for i, part := range parts {
		n[i], _ = strconv.Atoi(part) // digits or nothing
	}
	return n
}

// at returns the cell of the screen that is shown, or nil beyond its edges.
func (s *Screen) at(x, y int) *uv.Cell { return s.current().CellAt(x, y) }
