package screen

import (
	"strconv"
	"unicode/utf8"

	uv "github.com/charmbracelet/ultraviolet"
)

// Enter prepares the user's terminal for a Painter: the alternate screen, cleared and
// without wrapping.
const Enter = "\x1b[?1049h\x1b[?7l\x1b[m\x1b[2J\x1b[H"

// Leave undoes all that Enter and any Painter can have done.
const Leave = "\x1b[m\x1b[?1l\x1b>\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1004l\x1b[?2004l" +
	"\x1b[0 q\x1b[?25h\x1b[?7h\x1b[?1049l"

// Painter paints a Screen on one user's terminal, and keeps track of what that terminal
// shows. It is not safe for concurrent use.
type Painter struct {
	colors Colors
	size   Size   // of the user's terminal
	shown  []cell // row by row
	pen    uv.Style
	modes  modes
	still  bool // the terminal only shows: it gets no modes of its keyboard and mouse
	x, y   int  // the cursor; x < 0 means unknown
	fresh  bool
	out    []byte
}

// cell is the content of one position of a terminal.
type cell struct {
	text  string // empty: the second half of a wide character
	style uv.Style
}

var blank = cell{text: " "}

// NewPainter makes a Painter for a terminal of this size that has just been
// prepared with Enter.
func NewPainter(size Size, colors Colors) *Painter {
	p := &Painter{colors: colors, modes: powerOn()}
	p.Resize(size)
	return p
}

// NewStillPainter makes a Painter for a terminal that takes no input for the agent, such as that
// of a user who plays a recording.
func NewStillPainter(size Size, colors Colors) *Painter {
	p := NewPainter(size, colors)
	p.still = true
	return p
}

// Resize records the terminal's new size. The terminal may show anything then.
func (p *Painter) Resize(size Size) {
	p.size = size.Bound()
	p.shown = make([]cell, p.size.Rows*p.size.Cols)
	p.fresh = true
}

// Paint returns the bytes that make the terminal show the screen, none if it already does.
// Where the terminal is smaller, it shows the upper left; where it is larger, the rest is
// empty. The bytes are valid until the next call. full reports that the whole terminal was
// painted again.
func (p *Painter) Paint(s *Screen) (out []byte, full bool) {
	p.out, full = p.out[:0], p.fresh
	if p.fresh {
		p.clear()
	}
	p.cells(s)
	p.mirror(s)
	return p.out, full
}

// clear empties the terminal's rows one by one, since the rows below belong to
// another program.
func (p *Painter) clear() {
	p.fresh, p.pen, p.x = false, uv.Style{}, -1
	p.write("\x1b[m")
	for y := range p.size.Rows {
		p.move(0, y)
		p.write("\x1b[2K")
	}
	for i := range p.shown {
		p.shown[i] = blank
	}
}

// cells paints the cells that differ.
func (p *Painter) cells(s *Screen) {
	before := len(p.out)
	for y := range p.size.Rows {
		for x := 0; x < p.size.Cols; {
			c, width := p.cellOf(s, x, y)
			if i := y*p.size.Cols + x; p.shown[i] != c || width == 2 && p.shown[i+1] != (cell{}) {
				if len(p.out) == before && !p.modes.hidden {
					p.mode(25, false) // hides the cursor while it moves
					p.modes.hidden = true
				}
				p.put(x, y, c, width)
			}
			x += width
		}
	}
}

// cellOf returns the content for a position of the terminal, and its width in columns.
func (p *Painter) cellOf(s *Screen, x, y int) (cell, int) {
	if x >= s.size.Cols || y >= s.size.Rows {
		return blank, 1
	}
	from := s.at(x, y)
	switch {
	case from == nil:
		return blank, 1
	case from.Width == 2 && x+1 < min(p.size.Cols, s.size.Cols):
		return cell{safe(from.Content), from.Style}, 2
	case from.Width != 1:
		return cell{" ", from.Style}, 1
	default:
		return cell{safe(from.Content), from.Style}, 1
	}
}

// safe returns a cell's content unchanged, or a replacement if it is not one character of
// bounded size. It is the last check before the user's terminal.
func safe(content string) string {
	if len(content) == 1 && content[0] >= 0x20 && content[0] < 0x7f {
		return content
	}
	if content == "" {
		return " "
	}
	if len(content) > maxCluster {
		return "\ufffd"
	}
	for _, r := range content {
		if r < 0x20 || r >= 0x7f && !showable(r) {
			return "\ufffd"
		}
	}
	return content
}

func (p *Painter) put(x, y int, c cell, width int) {
	p.move(x, y)
	if p.pen != c.style {
		p.out = appendStyle(p.out, c.style, p.colors)
		p.pen = c.style
	}
	p.write(c.text)
	i := y*p.size.Cols + x
	p.shown[i] = c
	if width == 2 {
		p.shown[i+1] = cell{}
	}
	// Terminals disagree about the width of some characters, and about the cursor's
	// position after the last column.
	r, size := utf8.DecodeRuneInString(c.text)
	if p.x += width; p.x >= p.size.Cols || size != len(c.text) || r >= 0x3000 || width != 1 {
		p.x = -1
	}
}

// move moves the cursor to a position.
func (p *Painter) move(x, y int) {
	if p.x == x && p.y == y {
		return
	}
	p.write("\x1b[")
	p.out = strconv.AppendInt(p.out, int64(y+1), 10)
	p.write(";")
	p.out = strconv.AppendInt(p.out, int64(x+1), 10)
	p.write("H")
	p.x, p.y = x, y
}

// mirror gives the terminal the screen's cursor and its harmless modes.
func (p *Painter) mirror(s *Screen) {
	want := s.modes
	if p.still {
		want = modes{hidden: want.hidden, shape: want.shape}
	}
	at := s.current().CursorPosition()
	if at.X >= p.size.Cols || at.Y >= p.size.Rows {
		want.hidden = true
	} else if !want.hidden {
		p.move(at.X, at.Y)
	}
	p.change(1, p.modes.cursorKeys, want.cursorKeys)
	p.change(2004, p.modes.paste, want.paste)
	p.change(1004, p.modes.focus, want.focus)
	p.change(1006, p.modes.sgrMouse, want.sgrMouse)
	if p.modes.mouse != want.mouse {
		p.change(p.modes.mouse, p.modes.mouse != 0, false)
		p.change(want.mouse, false, want.mouse != 0)
	}
	if p.modes.keypad != want.keypad {
		p.write(map[bool]string{true: "\x1b=", false: "\x1b>"}[want.keypad])
	}
	if p.modes.shape != want.shape {
		p.write("\x1b[" + strconv.Itoa(want.shape) + " q")
	}
	p.change(25, !p.modes.hidden, !want.hidden)
	p.modes = want
}

func (p *Painter) change(mode int, was, is bool) {
	if was != is {
		p.mode(mode, is)
	}
}

func (p *Painter) mode(mode int, on bool) {
	p.write("\x1b[?" + strconv.Itoa(mode))
	p.out = append(p.out, letter(on))
}

func (p *Painter) write(text string) { p.out = append(p.out, text...) }
