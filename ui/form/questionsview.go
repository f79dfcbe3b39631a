package form

import (
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/termtext"

	"charm.land/bubbles/v2/key"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	overviewCols = 32
	wideCols     = 78 // from this width the overview is beside the question
)

func (q *questions) questionWidth() int {
	if q.width < wideCols {
		return q.width
	}
	return q.width - overviewCols - 3
}

// body is the overview beside the question, or the question alone.
func (q *questions) body() []string {
	question := q.question()
	if q.width < wideCols {
		return question
	}
	left, right := fit(q.overview(q.height), q.height), fit(question, q.height)
	lines := make([]string, q.height)
	for i := range lines {
		cell := ansi.Truncate(left[i], overviewCols, "…")
		pad := strings.Repeat(" ", overviewCols-lipgloss.Width(cell))
		lines[i] = strings.TrimRight(cell+pad+q.styles.Rule.Render(" │ ")+right[i], " ")
	}
	return lines
}

// question is the widget, the problem and the suggestions.
func (q *questions) question() []string {
	lines := strings.Split(q.current.widget.View(), "\n")
	for len(lines) > 0 && strings.TrimSpace(ansi.Strip(lines[len(lines)-1])) == "" {
		lines = lines[:len(lines)-1]
	}
	if problem := q.problemLines(q.questionWidth()); len(problem) > 0 {
		lines = append(lines[:max(1, min(len(lines), q.height-len(problem)))], problem...)
	}
	for _, value := range q.current.matching() {
		if len(lines) >= q.height {
			break
		}
		lines = append(lines, q.styles.Faint.Render("  "+value))
	}
	return lines
}

// problemLines explain why the current answer is invalid; nil if it is valid.
func (q *questions) problemLines(width int) []string {
	if q.current.err == nil {
		return nil
	}
	return strings.Split(q.styles.Problem.Render(ansi.Wrap("✗ "+termtext.Escape(q.current.err.Error()), width, "")), "\n")
}

// overview is the visible fields with their values, below their headings. Of a long one
// it is the part around the current field.
func (q *questions) overview(height int) []string {
	var lines []string
	current, group := 0, ""
	for i, field := range q.fields {
		if !spec.Visible(q.draft, field) {
			continue
		}
		if field.Group != group {
			group = field.Group
			lines = append(lines, q.styles.Section.Render(group))
		}
		if i == q.at {
			current = len(lines)
		}
		lines = append(lines, q.entry(field, i == q.at))
	}
	first := min(max(0, current-height/2), max(0, len(lines)-height))
	return lines[first:]
}

func (q *questions) entry(field spec.Field, current bool) string {
	mark, label := "  ", field.Label
	if current {
		mark, label = q.styles.Current.Render("▸ "), q.styles.Current.Render(label)
	}
	value := termtext.Escape(field.Text(q.draft))
	if value == "" {
		return mark + label
	}
	return mark + label + " " + q.styles.Value.Render(value)
}

// questionKeys are the keys of the current question.
func (q *questions) questionKeys() []key.Binding {
	if q.filtering() {
		return []key.Binding{bindingFor("enter", "take"), bindingFor("esc", "all choices")}
	}
	next := q.keys.Next
	if q.current != nil && q.current.multiline() {
		next.SetHelp("tab", "next")
	}
	keys := []key.Binding{next, q.keys.Back}
	if q.current != nil {
		keys = append(keys, q.current.keys()...)
	}
	return keys
}

// fit cuts or fills lines to a height.
func fit(lines []string, height int) []string {
	if len(lines) >= height {
		return lines[:height]
	}
	return append(slices.Clip(lines), make([]string, height-len(lines))...)
}

// bindingFor is a key as the help shows it.
func bindingFor(shown, help string) key.Binding {
	return key.NewBinding(key.WithKeys(shown), key.WithHelp(shown, help))
}

// safeWords drops the words that cannot be shown unescaped. Names that come from a server
// may hold anything.
func safeWords(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return termtext.Escape(word) != word })
}
