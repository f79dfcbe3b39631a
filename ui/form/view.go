package form

import (
	"fmt"
	"slices"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/termtext"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// The form works from this size on, and says so below.
const (
	leastWidth  = 50
	leastHeight = 12
	overview    = 32 // columns of the overview, where the terminal is wide enough
	wideEnough  = 78
)

// View draws the screen, whose size is the terminal's.
func (m *model) View() tea.View {
	view := tea.NewView(m.screen())
	view.AltScreen = true
	return view
}

func (m *model) screen() string {
	if m.width == 0 {
		return ""
	}
	if m.width < leastWidth || m.height < leastHeight {
		return ansi.Wrap(fmt.Sprintf("This form needs a terminal of %d×%d; this one has %d×%d. Enlarge it, or press esc.",
			leastWidth, leastHeight, m.width, m.height), m.width, "")
	}
	if m.page != asking || m.current == nil {
		return m.join(m.long(), nil)
	}
	return m.join(m.body(), m.glimpse())
}

// resize fits the current question to the terminal.
func (m *model) resize() {
	if m.current == nil || m.width == 0 {
		return
	}
	width, height := m.questionWidth(), m.bodyHeight()
	m.current.widget.WithWidth(width)
	if m.current.field.Type != spec.Bool {
		lines := lipgloss.Height(ansi.Wrap(m.current.help(), width, ""))
		if !m.current.multiline() {
			m.current.widget.WithHeight(height)
			return
		}
		m.current.widget.WithHeight(max(3, height-lines-1)) // room for an error
	}
}

func (m *model) questionWidth() int {
	if m.width < wideEnough {
		return m.width
	}
	return m.width - overview - 3
}

// glimpseHeight is the lines of the preview below the question.
func (m *model) glimpseHeight() int {
	if m.request.Preview == nil {
		return 0
	}
	return min(max(m.height/4, 3), 14)
}

// bodyHeight is what is left for the question: of the screen without the title and
// its line, the preview and its line, and the keys.
func (m *model) bodyHeight() int {
	if m.part {
		return m.height
	}
	height := m.height - 3
	if m.page == asking && m.current != nil && m.request.Preview != nil {
		height -= m.glimpseHeight() + 1
	}
	return height
}

// join puts the parts of the screen together, each line as wide as the screen at
// most.
func (m *model) join(body, glimpse []string) string {
	lines := []string{m.header(), m.rule("")}
	lines = append(lines, fit(body, m.bodyHeight())...)
	if len(glimpse) > 0 {
		lines = append(lines, m.rule("preview"))
		lines = append(lines, fit(glimpse, m.glimpseHeight())...)
	}
	lines = append(lines, m.footer())
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, m.width, "…")
	}
	return strings.Join(lines, "\n")
}

// fit is lines cut or filled to height.
func fit(lines []string, height int) []string {
	if len(lines) >= height {
		return lines[:height]
	}
	return append(slices.Clip(lines), make([]string, height-len(lines))...)
}

func (m *model) rule(name string) string {
	if name != "" {
		name = "─ " + name + " "
	}
	return m.styles.Rule.Render(name + strings.Repeat("─", max(0, m.width-lipgloss.Width(name))))
}

// header is the title and the progress.
func (m *model) header() string {
	place := "review"
	switch {
	case m.page == helping:
		place = "keys"
	case m.page == reading:
		place = "preview"
	case m.current != nil:
		seen, all := 0, 0
		for i, field := range m.fields {
			if spec.Visible(m.draft, field) {
				all++
				if i <= m.at {
					seen++
				}
			}
		}
		place = fmt.Sprintf("%d of %d", seen, all)
		if group := m.current.field.Group; group != "" {
			place = group + ", " + place
		}
	}
	title := ansi.Truncate(termtext.Escape(m.request.Title), max(0, m.width-lipgloss.Width(place)-2), "…")
	gap := max(1, m.width-lipgloss.Width(title)-lipgloss.Width(place))
	return m.styles.Title.Render(title) + strings.Repeat(" ", gap) + m.styles.Faint.Render(place)
}

// body is the overview beside the question, or the question alone.
func (m *model) body() []string {
	question := m.question()
	if m.width < wideEnough {
		return question
	}
	height := m.bodyHeight()
	left, right := fit(m.list(height), height), fit(question, height)
	lines := make([]string, height)
	for i := range lines {
		cell := ansi.Truncate(left[i], overview, "…")
		pad := strings.Repeat(" ", overview-lipgloss.Width(cell))
		lines[i] = strings.TrimRight(cell+pad+m.styles.Rule.Render(" │ ")+right[i], " ")
	}
	return lines
}

// question is the widget, what can be picked, and what is wrong.
func (m *model) question() []string {
	view := m.current.widget.View()
	lines := strings.Split(view, "\n")
	for len(lines) > 0 && strings.TrimSpace(ansi.Strip(lines[len(lines)-1])) == "" {
		lines = lines[:len(lines)-1]
	}
	height, width := m.bodyHeight(), m.questionWidth()
	if problem := m.trouble(); problem != "" {
		told := strings.Split(m.styles.Problem.Render(ansi.Wrap("✗ "+problem, width, "")), "\n")
		lines = append(lines[:max(1, min(len(lines), height-len(told)))], told...)
	}
	for _, value := range m.current.matching() {
		if len(lines) >= height {
			break
		}
		lines = append(lines, m.styles.Faint.Render("  "+value))
	}
	return lines
}

// trouble is what is wrong, as text.
func (m *model) trouble() string {
	switch {
	case m.current != nil && m.current.err != nil:
		return termtext.Escape(m.current.err.Error())
	case m.problem != nil:
		return termtext.Escape(m.problem.Error())
	}
	return ""
}

// list is the overview: each visible option with its value, below its heading, and
// of a long one the part around the current option.
func (m *model) list(height int) []string {
	var lines []string
	here, group := 0, ""
	for i, field := range m.fields {
		if !spec.Visible(m.draft, field) {
			continue
		}
		if field.Group != group {
			group = field.Group
			lines = append(lines, m.styles.Section.Render(group))
		}
		if i == m.at {
			here = len(lines)
		}
		lines = append(lines, m.entry(field, i == m.at))
	}
	first := min(max(0, here-height/2), max(0, len(lines)-height))
	return lines[first:]
}

func (m *model) entry(field spec.Field, current bool) string {
	mark, label := "  ", field.Label
	if current {
		mark, label = m.styles.Current.Render("▸ "), m.styles.Current.Render(label)
	}
	value := termtext.Escape(field.Text(m.draft))
	if value == "" {
		return mark + label
	}
	return mark + label + " " + m.styles.Value.Render(value)
}

// footer is the keys that matter most now.
func (m *model) footer() string {
	next := m.keys.Next
	var bindings []key.Binding
	switch {
	case m.page != asking:
		bindings = []key.Binding{m.keys.Up, m.keys.Down, bindingFor("esc", "close")}
	case m.current == nil:
		next.SetHelp("enter", strings.ToLower(m.request.action()))
		bindings = []key.Binding{next, m.keys.Back, m.keys.Cancel, m.keys.Up, m.keys.Down, m.keys.Help}
	case m.current.filtering():
		bindings = []key.Binding{bindingFor("enter", "take"), bindingFor("esc", "all choices")}
	default:
		if m.current.multiline() {
			next.SetHelp("tab", "next")
		}
		bindings = append([]key.Binding{next, m.keys.Back}, m.current.keys()...)
		bindings = append(bindings, m.keys.Cancel, m.keys.Review, m.keys.Help, m.keys.Read)
	}
	var parts []string
	for _, binding := range bindings {
		parts = append(parts, binding.Help().Key+" "+binding.Help().Desc)
	}
	return m.styles.Faint.Render(strings.Join(parts, " · "))
}

func bindingFor(shown, help string) key.Binding {
	return key.NewBinding(key.WithKeys(shown), key.WithHelp(shown, help))
}

// keys are the question's own keys, for help.
func (a *answer) keys() []key.Binding {
	switch {
	case a.field.Type == spec.Bool:
		return []key.Binding{bindingFor("←/→", "switch"), bindingFor("y/n", "on or off")}
	case a.field.Type == spec.Choice:
		return []key.Binding{bindingFor("↑/↓", "choose"), bindingFor("/", "filter")}
	case a.field.Type == spec.Choices:
		return []key.Binding{bindingFor("space", "switch"), bindingFor("/", "filter"), bindingFor("ctrl+a", "all or none")}
	case a.multiline():
		return []key.Binding{bindingFor("enter", "new line")}
	case len(a.offered) > 0:
		return []key.Binding{bindingFor("ctrl+e", "complete"), bindingFor("↑/↓", "suggestions")}
	default:
		return nil
	}
}

// safeWords leaves out what cannot be shown as it is: names that come from a
// server may hold anything.
func safeWords(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool { return termtext.Escape(word) != word })
}
