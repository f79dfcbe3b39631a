package screen

import (
	"bytes"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
)

// Text returns the content of the screen as lines of text with colors, without other
// control sequences and empty lines at the end. It is nil for an empty screen. With final
// it returns the content that remains after the agent's end: the main screen, even if the
// alternate one is shown.
func (s *Screen) Text(colors Colors, final bool) []byte {
	e := s.current()
	if final {
		e = s.main
	}
	var out bytes.Buffer
	empty := 0
	for y := range s.size.Rows {
		line := lineOf(func(x int) *uv.Cell { return e.CellAt(x, y) }, s.size.Cols, colors)
		if line == "" {
			empty++
			continue
		}
		out.WriteString(strings.Repeat("\n", empty))
		empty = 0
		out.WriteString(line + "\n")
	}
	return out.Bytes()
}

// Plain returns the content of the screen as lines of text without any style.
func (s *Screen) Plain() string { return ansi.Strip(string(s.Text(NoColors, false))) }

// Recolor returns text of Text for a terminal with these colors. It removes everything
// else, in case the text was stored where others can write.
func Recolor(text []byte, colors Colors) []byte {
	text = bytes.TrimRight(text, "\r\n")
	s := New(Size{bytes.Count(text, []byte("\n")) + 1, maxCols})
	_, _ = s.Write(bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")))
	return s.Text(colors, true)
}

// Fit returns one line of plain text in exactly so many columns.
func Fit(text string, cols int) string {
	text = ansi.Truncate(text, cols, "…")
	return text + strings.Repeat(" ", max(cols-ansi.StringWidth(text), 0))
}

// lineOf returns one row of cells, without the spaces at its end.
func lineOf(at func(x int) *uv.Cell, cols int, colors Colors) string {
	var out []byte
	var pen uv.Style
	end := 0
	for x := 0; x < cols; x++ {
		c := at(x)
		if c == nil {
			break
		}
		style := c.Style
		if colors == NoColors {
			style.Fg, style.Bg = nil, nil
		}
		if pen != style {
			out, pen = appendStyle(out, style, colors), style
		}
		out = append(out, safe(c.Content)...)
		if c.Width == 2 {
			x++
		}
		if c.Content != " " && c.Content != "" || style.Bg != nil || style.Attrs&uv.AttrReverse != 0 {
			end = len(out)
		}
	}
	// The part that was cut off may have held the reset.
	line := string(out[:end])
	if strings.Contains(line, "\x1b") {
		line += "\x1b[m"
	}
	return line
}
