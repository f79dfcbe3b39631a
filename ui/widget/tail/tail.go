// Package tail is the common part of views of a growing text: the text while there is
// nothing to show, the highlighted hits of a search, and the key that leads back to the end.
// It keeps no text and scrolls nothing.
package tail

import (
	"strings"

	"aibox/internal/termtext"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

// Empty returns the text of a view without text. It is empty until reading has begun. over means
// that the text is complete.
func Empty(reading, over bool) string {
	switch {
	case !reading:
		return ""
	case over:
		return "no output"
	default:
		return "no output yet"
	}
}

// Failed returns the text of a view without text because it could not be read.
func Failed(t theme.Theme, width int, err error) string {
	return t.Bad.Render(ansi.Truncate("✗ "+termtext.Escape(err.Error()), width, "…"))
}

// Position returns the text for a view that does not follow the end: the position of the
// search's hit, such as "3/17" or empty, and the key that goes to the end.
func Position(t theme.Theme, over bool, hit string) string {
	end := t.Key.Render("end") + t.Faint.Render(" follows")
	if over {
		end = t.Key.Render("end") + t.Faint.Render(" to the bottom")
	}
	if hit != "" {
		return t.Title.Render(hit) + t.Faint.Render(" · ") + end
	}
	return end
}

// WithPosition returns the rows of a view with a text at the end of the last one.
func WithPosition(rows []string, width, height int, text string) []string {
	rows = frame.Fill(rows, height)
	rows[height-1] = frame.Pad(rows[height-1], max(0, width-ansi.StringWidth(text)-1)) + " " + text
	return rows
}

// Highlight marks the words of a search in a row, whatever their case. A row with them loses
// its other styles. Empty words mark nothing.
func Highlight(t theme.Theme, row, words string) string {
	if words == "" {
		return row
	}
	plain, words := ansi.Strip(row), strings.ToLower(words)
	folded := strings.ToLower(plain)
	if len(folded) != len(plain) || !strings.Contains(folded, words) {
		return row
	}
	var out strings.Builder
	for {
		i := strings.Index(folded, words)
		if i < 0 {
			return out.String() + plain
		}
		end := i + len(words)
		out.WriteString(plain[:i] + t.Selected.Render(plain[i:end]))
		plain, folded = plain[end:], folded[end:]
	}
}
