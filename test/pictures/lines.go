package main

import (
	"fmt"
	"sort"
	"strings"
)

// The sides of a cell that a box-drawing character connects.
const (
	toLeft = 1 << iota
	toRight
	toUp
	toDown
)

// strokes are the characters that are drawn as lines. As text, they would have gaps between
// the rows if the reader's font is lower than a row.
var strokes = map[string]int{
	"─": toLeft | toRight, "│": toUp | toDown,
	"┌": toRight | toDown, "╭": toRight | toDown, "┐": toLeft | toDown, "╮": toLeft | toDown,
	"└": toRight | toUp, "╰": toRight | toUp, "┘": toLeft | toUp, "╯": toLeft | toUp,
	"├": toUp | toDown | toRight, "┤": toUp | toDown | toLeft,
	"┬": toLeft | toRight | toDown, "┴": toLeft | toRight | toUp, "┼": toLeft | toRight | toUp | toDown,
}

// drawing collects lines by color and joins them.
type drawing struct {
	across map[string][]stretch // horizontal: at is y
	down   map[string][]stretch // vertical: at is x
}

// stretch is a line from one place to another, in half cells.
type stretch struct{ at, from, to int }

func newDrawing() *drawing {
	return &drawing{across: map[string][]stretch{}, down: map[string][]stretch{}}
}

// add draws the character of a cell as lines, and reports whether it can be.
func (d *drawing) add(content string, x, y int, color string) bool {
	sides, known := strokes[content]
	if !known {
		return false
	}
	cx, cy := 2*x+1, 2*y+1
	if sides&toLeft != 0 {
		d.join(d.across, color, stretch{cy, cx - 1, cx})
	}
	if sides&toRight != 0 {
		d.join(d.across, color, stretch{cy, cx, cx + 1})
	}
	if sides&toUp != 0 {
		d.join(d.down, color, stretch{cx, cy - 1, cy})
	}
	if sides&toDown != 0 {
		d.join(d.down, color, stretch{cx, cy, cy + 1})
	}
	return true
}

// join merges two lines that touch.
func (d *drawing) join(lines map[string][]stretch, color string, s stretch) {
	known := lines[color]
	for i := range known {
		if known[i].at == s.at && known[i].to == s.from {
			known[i].to = s.to
			return
		}
	}
	lines[color] = append(known, s)
}

// write writes one path for each color.
func (d *drawing) write(out *strings.Builder) {
	colors := map[string]bool{}
	for color := range d.across {
		colors[color] = true
	}
	for color := range d.down {
		colors[color] = true
	}
	sorted := make([]string, 0, len(colors))
	for color := range colors {
		sorted = append(sorted, color)
	}
	sort.Strings(sorted)
	for _, color := range sorted {
		fmt.Fprintf(out, `<path stroke="%s" d="`, color)
		for _, s := range d.across[color] {
			fmt.Fprintf(out, "M%s %sH%s", halfX(s.from), halfY(s.at), halfX(s.to))
		}
		for _, s := range d.down[color] {
			fmt.Fprintf(out, "M%s %sV%s", halfX(s.at), halfY(s.from), halfY(s.to))
		}
		out.WriteString("\"/>\n")
	}
}

func halfX(n int) string { return number(margin + float64(n)*cellWidth/2) }
func halfY(n int) string { return number(margin + float64(n)*cellHeight/2) }
