package diff

import (
	"strings"

	"aibox/internal/termtext"
	"aibox/ui/syntax"

	"github.com/charmbracelet/x/ansi"
)

const (
	MaxColumn = 4000          // how far a long line can be shifted
	MaxShown  = MaxColumn * 4 // bytes of a line that are shown and searched
)

// span is a part of a line, in bytes.
type span struct{ from, to int }

// Line is a line of the diff, to be rendered.
type Line struct {
	Text    []byte // raw
	classes []syntax.Span
	differs span
	hits    []span // what was searched for
	Style   sgr    // of parts without a style of their own
	changed sgr    // of what differs
}

// Window renders at most width columns of the line, from a column on: exactly width when
// fill is set. An ellipsis marks a cut end.
func (l Line) Window(k *Styles, column, width int, fill bool) string {
	text := l.Text[:min(len(l.Text), MaxShown)]
	var out strings.Builder
	at, used := 0, 0 // columns passed, columns written
	cut := len(l.Text) > len(text)
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
		end, style := l.part(k, i, len(text))
		part := Untab(termtext.Text(string(text[i:end])))
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
		out.WriteString(style.Render(part))
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

// part returns the end and the style of the part of the line that begins at i.
func (l Line) part(k *Styles, i, end int) (int, sgr) {
	style := l.Style
	within := func(s span, inside sgr) bool {
		switch {
		case i >= s.to || s.from >= s.to:
		case i >= s.from:
			style, end = inside, min(end, s.to)
			return true
		default:
			end = min(end, s.from)
		}
		return false
	}
	for _, hit := range l.hits {
		if within(hit, k.Hit) {
			return end, style
		}
	}
	if within(l.differs, l.changed) {
		return end, style
	}
	for _, c := range l.classes {
		if c.From >= end {
			break
		}
		class := k.Classes[c.Class]
		if class == "" {
			class = l.Style
		}
		if within(span{c.From, c.To}, class) {
			break
		}
	}
	return end, style
}

// cells returns the columns from from up to to of a text without styles. A wide
// character that a border cuts in half becomes spaces.
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

// columns returns the width of a text without styles.
func columns(text string) int {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return ansi.StringWidth(text)
		}
	}
	return len(text)
}

// Untab replaces tabs, whose width the terminal would decide, by four spaces.
func Untab(text string) string {
	if strings.IndexByte(text, '\t') < 0 {
		return text
	}
	return strings.ReplaceAll(text, "\t", "    ")
}
