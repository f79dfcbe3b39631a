package main

import (
	"fmt"
	"html"
	"sort"
	"strconv"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
)

// The dimensions of a picture, in pixels. A cell is as wide as a character of most
// monospaced fonts of this size. Texts have a fixed width, so that another font moves
// nothing.
const (
	fontSize   = 14
	cellWidth  = 8.4
	cellHeight = 17.0
	baseline   = 12.8 // from the top of a cell
	margin     = 10.0
)

// svg draws the screen of a terminal of this size: lines of text with SGR sequences.
func svg(lines []string, cols, rows int, p palette) string {
	e := vt.NewEmulator(cols, rows)
	defer e.Close()
	_, _ = e.WriteString("\x1b[?7l" + strings.Join(lines, "\r\n"))
	s := sheet{palette: p, classes: map[string]string{}, lines: newDrawing()}
	for y := range rows {
		s.row(e, y, y, cols)
	}
	return s.document(cols, rows)
}

// sheet is a picture under construction.
type sheet struct {
	palette palette
	back    strings.Builder
	text    strings.Builder
	lines   *drawing
	classes map[string]string // from a style to its name
}

// span is a part of a row in one style.
type span struct {
	x, width int
	text     string
}

// row draws row y of the screen as row top of the picture: the background and the text.
func (s *sheet) row(e *vt.Emulator, y, top, cols int) {
	var now span
	var class, back string
	var behind span
	flush := func() {
		if strings.TrimSpace(now.text) != "" {
			s.write(now, top, class)
		}
		now = span{}
	}
	fill := func() {
		if behind.width > 0 && back != "" {
			fmt.Fprintf(&s.back, `<rect x="%s" y="%s" width="%s" height="%s" fill="%s"/>`+"\n",
				number(margin+float64(behind.x)*cellWidth), number(margin+float64(top)*cellHeight),
				number(float64(behind.width)*cellWidth), number(cellHeight), back)
		}
		behind = span{}
	}
	for x := 0; x < cols; {
		cell := e.CellAt(x, y)
		if cell == nil {
			break
		}
		width := max(1, cell.Width)
		front, behindIt := s.colors(cell.Style)
		if behindIt != back {
			fill()
			back = behindIt
		}
		if behind.width == 0 {
			behind.x = x
		}
		behind.width += width
		content := cell.Content
		if content == "" || s.lines.add(content, x, top, front) {
			content = " "
		}
		// A gap of several columns starts a new text, and so does a wide character, whose
		// width depends on the font.
		name := s.class(front, cell.Style)
		if name != class || width != 1 || strings.HasSuffix(now.text, "  ") && content != " " {
			flush()
			class = name
		}
		if now.text == "" {
			now.x = x
		}
		now.text += content
		now.width += width
		if width != 1 {
			flush()
		}
		x += width
	}
	flush()
	fill()
}

// write writes one text.
func (s *sheet) write(t span, y int, class string) {
	trimmed := strings.TrimRight(t.text, " ")
	t.width -= len(t.text) - len(trimmed)
	left := strings.TrimLeft(trimmed, " ")
	t.x += len(trimmed) - len(left)
	t.width -= len(trimmed) - len(left)
	length := ""
	if t.width > 1 {
		length = fmt.Sprintf(` textLength="%s"`, number(float64(t.width)*cellWidth))
	}
	fmt.Fprintf(&s.text, `<text class="%s" x="%s" y="%s"%s>%s</text>`+"\n", class,
		number(margin+float64(t.x)*cellWidth), number(margin+float64(y)*cellHeight+baseline), length, html.EscapeString(left))
}

// colors returns the colors of a cell's text and of its background, "" for the terminal's
// own background.
func (s *sheet) colors(style uv.Style) (front, back string) {
	front, back = s.palette.of(style.Fg, s.palette.text), s.palette.of(style.Bg, "")
	if style.Attrs&uv.AttrReverse != 0 {
		if back == "" {
			back = s.palette.back
		}
		front, back = back, front
	}
	return front, back
}

// class returns the class of a text style.
func (s *sheet) class(front string, style uv.Style) string {
	rules := "fill:" + front
	for _, attribute := range []struct {
		on   bool
		rule string
	}{
		{style.Attrs&uv.AttrBold != 0, "font-weight:bold"},
		{style.Attrs&uv.AttrFaint != 0, "fill-opacity:.65"},
		{style.Attrs&uv.AttrItalic != 0, "font-style:italic"},
		{style.Attrs&uv.AttrStrikethrough != 0, "text-decoration:line-through"},
		{style.Underline != ansi.UnderlineNone, "text-decoration:underline"},
	} {
		if attribute.on {
			rules += ";" + attribute.rule
		}
	}
	if s.classes[rules] == "" {
		s.classes[rules] = "s" + strconv.Itoa(len(s.classes))
	}
	return s.classes[rules]
}

// document returns the whole file.
func (s *sheet) document(cols, rows int) string {
	width, height := float64(cols)*cellWidth+2*margin, float64(rows)*cellHeight+2*margin
	var out strings.Builder
	s.head(&out, width, height)
	out.WriteString("</style>\n")
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" rx="8" fill="%s"/>`+"\n", s.palette.back)
	out.WriteString(s.back.String())
	s.lines.write(&out)
	out.WriteString(s.text.String() + "</svg>\n")
	return out.String()
}

// head writes the beginning of a file up to the end of the styles, without their end tag.
func (s *sheet) head(out *strings.Builder, width, height float64) {
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" width="%s" height="%s">`+"\n",
		number(width), number(height), number(width), number(height))
	fmt.Fprintf(out, "<style>text{font:%dpx 'DejaVu Sans Mono',Menlo,Consolas,monospace;white-space:pre}path{fill:none}\n", fontSize)
	rules := make([]string, 0, len(s.classes))
	for rule, name := range s.classes {
		rules = append(rules, "."+name+"{"+rule+"}")
	}
	sort.Strings(rules)
	out.WriteString(strings.Join(rules, "\n"))
}

// number formats a dimension with one decimal at most.
func number(n float64) string {
	return strings.TrimRight(strings.TrimRight(strconv.FormatFloat(n, 'f', 1, 64), "0"), ".")
}
