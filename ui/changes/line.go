package changes

import (
	"strings"

	"aibox/internal/termtext"
	"aibox/ui/syntax"

	"github.com/charmbracelet/x/ansi"
)

const (
	maxColumn = 4000          // how far a long line can be shifted
	maxShown  = maxColumn * 4 // bytes of a line that are looked at
)

// span is a part of a line, in bytes.
type span struct{ from, to int }

// line is a line of the agent's as it is to be painted.
type line struct {
	text    []byte // raw
	classes []syntax.Span
	differs span
	hits    []span // what was searched for
	ink     ink    // of what has none of its own
	changed ink    // of what differs
}

// window is the columns of the line from column on, width of them: exactly, when fill
// is set. What is cut off at the end is told by a sign.
func (l line) window(k *inks, column, width int, fill bool) string {
	text := l.text[:min(len(l.text), maxShown)]
	var out strings.Builder
	at, used := 0, 0 // columns passed, columns written
	cut := len(l.text) > len(text)
	for i := 0; i < len(text); {
		if at >= column+width {
			cut = true
			break
		}
		for len(l.classes) > 0 && l.classes[0].To <= i {
			l.classes = l.classes[1:]
		}
		for len(l.hits) > 0 && l.hits[0].to <= i {
			l.hits = l.hits[1:]
		}
		end, paint := l.part(k, i, len(text))
		part := untab(termtext.Text(string(text[i:end])))
		i = end
		size := columns(part)
		from, to := max(0, column-at), min(size, column+width-at)
		cut = cut || at+size > column+width
		at += size
		if from >= to {
			continue
		}
		if from > 0 || to < size {
			part = cells(part, from, to)
		}
		used += columns(part)
		out.WriteString(paint.paint(part))
	}
	switch {
	case cut && width > 0:
		begin := ansi.Truncate(out.String(), width-1, "")
		return begin + strings.Repeat(" ", max(0, width-1-ansi.StringWidth(begin))) + "…"
	case fill:
		out.WriteString(strings.Repeat(" ", max(0, width-used)))
	}
	return out.String()
}

// part is where the part of the line that begins at i ends, and its ink.
func (l line) part(k *inks, i, end int) (int, ink) {
	paint := l.ink
	within := func(s span, ink ink) bool {
		switch {
		case i >= s.to || s.from >= s.to:
		case i >= s.from:
			paint, end = ink, min(end, s.to)
			return true
		default:
			end = min(end, s.from)
		}
		return false
	}
	for _, hit := range l.hits {
		if within(hit, k.hit) {
			return end, paint
		}
	}
	if within(l.differs, l.changed) {
		return end, paint
	}
	for _, c := range l.classes {
		if c.From >= end {
			break
		}
		ink := k.classes[c.Class]
		if ink == "" {
			ink = l.ink
		}
		if within(span{c.From, c.To}, ink) {
			break
		}
	}
	return end, paint
}

// cells is the columns of a text without styles, from one on and up to another. What
// a border cuts in half is spaces.
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

// columns is how wide a text without styles is.
func columns(text string) int {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// untab makes a tab four columns, whose width a terminal would decide.
func untab(text string) string {
	if strings.IndexByte(text, '\t') < 0 {
		return text
	}
	return strings.ReplaceAll(text, "\t", "    ")
}
