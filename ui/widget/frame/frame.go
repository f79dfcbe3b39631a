// Package frame draws what all screens share: a head, two panes side by side, and a note
// at the foot. It knows nothing about the content, and keeps every line within its width.
package frame

import (
	"strings"

	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

// HeadRows is the height of Head.
const HeadRows = 2

// Head returns the title of a screen with a rule below it: left, and right at the end of
// the row. It cuts what does not fit, left first.
func Head(t theme.Theme, width int, left, right string) []string {
	return []string{Ends(width, left, right), Rule(t, width)}
}

// Rule returns a horizontal line.
func Rule(t theme.Theme, width int) string {
	return t.Rule.Render(strings.Repeat("─", max(0, width)))
}

// TitledRule returns a horizontal line with a text near its end, which is left out when
// it does not fit.
func TitledRule(t theme.Theme, width int, text string) string {
	return RuleAbove(t, width, Over{text, width})
}

// Over is a text in a horizontal line above a list or a pane: which rows are shown, for
// example. It is near the column End, where the list ends.
type Over struct {
	Text string
	End  int
}

// RuleAbove returns a horizontal line with texts in it, from left to right. Those that do not
// fit are left out.
func RuleAbove(t theme.Theme, width int, texts ...Over) string {
	out, at := "", 0
	for _, over := range texts {
		from := min(over.End, width) - ansi.StringWidth(over.Text) - 3
		if over.Text == "" || from < at+1 {
			continue
		}
		out += Rule(t, from-at) + " " + t.Faint.Render(over.Text) + " "
		at = min(over.End, width) - 1
	}
	return out + Rule(t, width-at)
}

// Ends returns a line of a width with left at its start and right at its end. It cuts what does
// not fit, left first.
func Ends(width int, left, right string) string {
	left = ansi.Truncate(left, max(0, width-ansi.StringWidth(right)-1), "…")
	pad := max(0, width-ansi.StringWidth(left)-ansi.StringWidth(right))
	return ansi.Truncate(left+strings.Repeat(" ", pad)+right, width, "…")
}

// FieldEnds returns a field to type in with a text at the end of the line, which is left out
// if the typed text needs the room.
func FieldEnds(width int, field, text string) string {
	room := width - ansi.StringWidth(text) - 2
	if text == "" || room < 0 || strings.TrimSpace(ansi.Strip(ansi.TruncateLeft(field, room, ""))) != "" {
		return ansi.Truncate(field, width, "…")
	}
	return Ends(width, ansi.Truncate(field, room, ""), text)
}

// Fill returns exactly height lines: it cuts lines or adds empty ones.
func Fill(lines []string, height int) []string {
	out := make([]string, max(0, height))
	copy(out, lines)
	return out
}

// Cut cuts lines to width cells, in place, and returns them.
func Cut(lines []string, width int) []string {
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, width, "…")
	}
	return lines
}

// Lines splits a text into lines, without empty ones at its end.
func Lines(text string) []string { return strings.Split(strings.TrimRight(text, " \n"), "\n") }

// Pad cuts or pads a line to exactly width columns.
func Pad(line string, width int) string {
	line = ansi.Truncate(line, width, "…")
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}

// PaneGap is the columns between two panes.
const PaneGap = 3

// Panes puts two panes side by side: the left one leftWidth columns wide, then PaneGap
// columns, then the right one, whose lines must fit. The result is as high as the left
// pane.
func Panes(t theme.Theme, left, right []string, leftWidth int) []string {
	between := t.Rule.Render(" │ ")
	out := make([]string, len(left))
	for i, line := range left {
		out[i] = Pad(line, leftWidth) + between
		if i < len(right) {
			out[i] += right[i]
		}
	}
	return out
}

// Note is the result of the last action, or why it failed. The zero value is empty.
type Note struct {
	text   string
	failed bool
}

// Say sets the note to text, which must be escaped, or if err is not nil to the error and
// its first hint. An empty text without an error clears the note.
func (n *Note) Say(text string, err error) {
	n.text, n.failed = text, err != nil
	if err == nil {
		return
	}
	n.text = termtext.Escape(err.Error())
	if hints := fault.Hints(err); len(hints) > 0 {
		n.text += " → " + termtext.Escape(hints[0])
	}
}

// Text returns the note without styles; empty for none.
func (n Note) Text() string { return n.text }

// View returns the note in one line of at most width columns.
func (n Note) View(t theme.Theme, width int) string { return n.Lines(t, width, 1)[0] }

// Lines returns the note in 1 to most lines of at most width columns.
func (n Note) Lines(t theme.Theme, width, most int) []string {
	style := t.Faint
	if n.failed {
		style = t.Bad
	}
	lines := []string{n.text}
	if most > 1 {
		lines = Wrap(n.text, width)
	}
	if len(lines) > most {
		lines = append(lines[:most-1:most-1], strings.Join(lines[most-1:], " "))
	}
	for i, line := range lines {
		lines[i] = style.Render(ansi.Truncate(line, width, "…"))
	}
	return lines
}

// Wrap wraps a text at spaces, into lines of at most width columns. It breaks a word only
// if it is longer than a line: a path or a command broken at a hyphen would read as
// another one.
func Wrap(text string, width int) []string {
	width = max(1, width)
	var out []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for i, word := range strings.Split(paragraph, " ") {
			switch {
			case i == 0:
				line = word
			case ansi.StringWidth(line)+1+ansi.StringWidth(word) <= width:
				line += " " + word
			default:
				out, line = append(out, line), word
			}
			if ansi.StringWidth(line) > width {
				parts := strings.Split(ansi.Hardwrap(line, width, true), "\n")
				last := len(parts) - 1
				out, line = append(out, parts[:last]...), parts[last]
			}
		}
		out = append(out, line)
	}
	return out
}
