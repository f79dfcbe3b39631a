package diff

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"aibox/internal/termtext"
	"aibox/review/worddiff"
	"aibox/ui/syntax"

	"github.com/charmbracelet/x/ansi"
)

const (
	MaxColumn = 4000          // how far a long line can be shifted
	MaxShown  = MaxColumn * 4 // bytes of a line that are shown and searched
)

// span is a part of a line, in bytes.
type span = worddiff.Span

// Line is a line of the diff, to be rendered.
type Line struct {
	Text    []byte // raw
	Style   *LineStyle
	classes []syntax.Span
	differs []span // the parts that the other version of the line lacks
	hits    []span // matches of the search
	changed bool   // blanks have marks at the end of the line and where it differs
	tail    string // shown after the text
	columns int    // of all of it, when known
}

// Window renders at most width columns of the line, starting at a column. If fill is set, it
// renders exactly width columns. A mark shows a cut end, with the number of hidden columns if it is
// known.
func (l *Line) Window(k *Styles, column, width int, fill bool) string {
	out, used, more := l.cells(k, column, column+width)
	switch {
	case more && width > 0:
		mark := l.cutMark(column, width)
		begin := ansi.Truncate(out, width-len(mark), "")
		return begin + l.Style.text.Render(strings.Repeat(" ", max(0, width-len(mark)-ansi.StringWidth(begin)))) + k.number.Render("…"+mark[1:])
	case fill:
		out += l.Style.text.Render(strings.Repeat(" ", max(0, width-used)))
	}
	return out
}

// cutMark returns the mark of a cut end, with a placeholder for the ellipsis: one byte
// for each column.
func (l *Line) cutMark(column, width int) string {
	mark := ""
	for range 2 { // the mark hides columns, too
		mark = fmt.Sprintf(".+%d", l.columns-column-width+len(mark))
	}
	if l.columns == 0 || len(mark)+minBesideMark > width {
		return "."
	}
	return mark
}

// minBesideMark is the minimum number of columns of a line that are shown beside the number of
// hidden columns.
const minBesideMark = 8

// cells renders the columns [from, to) of the line. It returns how many columns it rendered, and
// whether the line has more.
func (l *Line) cells(k *Styles, from, to int) (_ string, used int, more bool) {
	text := l.Text[:min(len(l.Text), MaxShown)]
	var out strings.Builder
	at := 0 // columns passed
	add := func(part string, style sgr) {
		size := columns(part)
		begin, end := max(0, from-at), min(size, to-at)
		more = more || at+size > to
		if at += size; begin >= end {
			return
		}
		if begin > 0 || end < size {
			part = cells(part, begin, end)
		}
		used += columns(part)
		out.WriteString(style.Render(part))
	}
	r := partReader{Line: l, styles: k, solid: len(text)}
	if l.changed {
		r.solid = len(bytes.TrimRight(text, " \t"))
	}
	for r.at < len(text) && at <= to {
		add(r.next(text))
	}
	if len(text) < len(l.Text) || r.at < len(text) {
		return out.String(), used, true
	}
	add(l.tail, k.number)
	return out.String(), used, more
}

// partReader reads the parts of a line that have one style each.
type partReader struct {
	*Line
	styles             *Styles
	at                 int // bytes read
	solid              int // bytes before the blanks at the end that have marks
	class, differ, hit int // the next of each
}

// next returns the next part of text, and its style.
func (r *partReader) next(text []byte) (string, sgr) {
	end, style, marks := r.part(len(text))
	raw := text[r.at:end]
	r.at = end
	if marks {
		return blankMarks.Replace(string(raw)), style
	}
	return Untab(termtext.Text(string(raw))), style
}

// blankMarks shows blanks.
var blankMarks = strings.NewReplacer(" ", "·", "\t", "→   ")

// part returns the end and the style of the part that begins at r.at, and whether its
// blanks have marks.
func (r *partReader) part(end int) (_ int, style sgr, marks bool) {
	i, style := r.at, r.Style.text
	within := func(from, to int) bool {
		switch {
		case i >= to:
		case i >= from:
			end = min(end, to)
			return true
		default:
			end = min(end, from)
		}
		return false
	}
	for r.hit < len(r.hits) && r.hits[r.hit].To <= i {
		r.hit++
	}
	for r.differ < len(r.differs) && r.differs[r.differ].To <= i {
		r.differ++
	}
	for r.class < len(r.classes) && r.classes[r.class].To <= i {
		r.class++
	}
	hit := r.hit < len(r.hits) && within(r.hits[r.hit].From, r.hits[r.hit].To)
	differs := r.differ < len(r.differs) && within(r.differs[r.differ].From, r.differs[r.differ].To)
	atEnd := within(r.solid, len(r.Text))
	switch {
	case hit:
		style = r.styles.Hit
	case differs:
		style = r.Style.Differs
	case atEnd:
		style = r.Style.blanks
	case r.class < len(r.classes) && within(r.classes[r.class].From, r.classes[r.class].To):
		if class := r.Style.Classes[r.classes[r.class].Class]; class != "" {
			style = class
		}
	}
	return end, style, atEnd || differs && r.changed && onlyBlanks(r.Text[r.differs[r.differ].From:r.differs[r.differ].To])
}

// onlyBlanks reports whether a text is spaces and tabs.
func onlyBlanks(text []byte) bool { return len(bytes.Trim(text, " \t")) == 0 }

// cells returns the columns [from, to) of a text without styles. A wide character that is only
// partly in this range becomes spaces.
func cells(text string, from, to int) string {
	var out strings.Builder
	for at := 0; text != "" && at < to; {
		cluster, wide := ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
		text = text[len(cluster):]
		if at >= from && at+wide <= to {
			out.WriteString(cluster)
		} else {
			out.WriteString(strings.Repeat(" ", max(0, min(at+wide, to)-max(at, from))))
		}
		at += wide
	}
	return out.String()
}

// wrap breaks a text into at most most lines of a width, and returns the column at which each line
// starts. It breaks after blanks, beside wide characters, or within a word that is too long for a
// line. It cuts no character in half.
func wrap(text string, width, most int) []int {
	starts := []int{0}
	// possible is the last column to break at; it is 0 within the blanks at the start of a line.
	for at, begin, possible, inWord := 0, 0, 0, false; text != "" && len(starts) <= most; {
		wide, blank := 1, text[0] == ' '
		if text[0] < utf8.RuneSelf && (len(text) == 1 || text[1] < utf8.RuneSelf) {
			text = text[1:]
		} else {
			var cluster string
			cluster, wide = ansi.FirstGraphemeCluster(text, ansi.GraphemeWidth)
			text = text[len(cluster):]
		}
		if wide > 1 && inWord {
			possible = at
		}
		if at+wide > begin+width && at > begin {
			begin = at
			if !blank && possible > 0 {
				begin = possible
			}
			starts = append(starts, begin)
			possible, inWord = 0, begin < at
		}
		at += wide
		inWord = inWord || !blank
		if (blank || wide > 1) && inWord {
			possible = at
		}
	}
	return starts[:min(len(starts), most)]
}

// columns returns the width of a text without styles.
func columns(text string) int {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// tabWidth is the number of columns of a tab.
const tabWidth = 4

// Untab replaces tabs with four spaces, because the terminal decides the width of a tab.
func Untab(text string) string {
	if strings.IndexByte(text, '\t') < 0 {
		return text
	}
	return strings.ReplaceAll(text, "\t", "    ")
}
