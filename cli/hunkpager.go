package cli

import (
	"strings"

	"aibox/internal/termtext"
	"aibox/review"

	"github.com/charmbracelet/x/ansi"

	"aibox/review/printer"
)

// hunkPager shows a hunk one screenful at a time.
type hunkPager struct {
	prompt *hunkPrompt
	lines  []string
	shown  int
}

// questionLines are the lines of a screen that stay free: two for the question and one
// for the text before it.
const questionLines = 3

func newHunkPager(p *hunkPrompt, h review.Hunk, title string) hunkPager {
	lines := append([]string{p.t.style("36", title)}, printer.Hunk(h, p.t.color)...)
	for _, feedback := range p.earlier[h.ID] {
		for line := range strings.SplitSeq(feedback, "\n") {
			lines = append(lines, p.t.style("36", "▌ "+termtext.Escape(line)))
		}
	}
	return hunkPager{prompt: p, lines: lines}
}

// next shows the next screenful, or everything where the output is no terminal.
func (p *hunkPager) next() {
	t := p.prompt.t
	if p.left() == 0 {
		p.shown = 0 // start over
	}
	room := max(t.height-questionLines, 2)
	var out strings.Builder
	for p.shown < len(p.lines) {
		line, rows := p.lines[p.shown], 1
		if t.interactive && t.height > 0 {
			if limit := max(room, 1) * t.width; ansi.StringWidth(line) > limit {
				line = ansi.Truncate(line, limit-1, "…")
			}
			if width := ansi.StringWidth(line) + 8*strings.Count(line, "\t"); width > 0 {
				rows = (width + t.width - 1) / t.width
			}
			if room -= rows; room < 0 && out.Len() > 0 {
				break
			}
		}
		out.WriteString(line + "\n")
		p.shown++
	}
	_, _ = p.prompt.out.Write([]byte(out.String()))
}

// left returns how many lines have not been shown yet.
func (p *hunkPager) left() int { return len(p.lines) - p.shown }
