package cli

import (
	"strings"

	"aibox/internal/termtext"
	"aibox/review"

	"github.com/charmbracelet/x/ansi"
)

// pages shows a hunk a screenful at a time.
type pages struct {
	prompt *hunkPrompt
	lines  []string
	shown  int
}

// roomBelow are the lines of a screen that stay free for the question, which may
// take two, and one of the text before it.
const roomBelow = 3

func newPages(p *hunkPrompt, h review.Hunk, title string) *pages {
	lines := append([]string{p.t.style("36", title)}, h.Show(p.t.color)...)
	for _, said := range p.earlier[h.ID] {
		for line := range strings.SplitSeq(said, "\n") {
			lines = append(lines, p.t.style("36", "▌ "+termtext.Escape(line)))
		}
	}
	return &pages{prompt: p, lines: lines}
}

// next shows as much as the screen holds; everything where there is no screen.
func (p *pages) next() {
	t := p.prompt.t
	if p.left() == 0 {
		p.shown = 0 // once more
	}
	room := max(t.height-roomBelow, 2)
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

// left is how many lines were not shown yet.
func (p *pages) left() int { return len(p.lines) - p.shown }
