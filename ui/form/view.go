package form

import (
	"fmt"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/termtext"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// The smallest terminal that can show the form.
const (
	minWidth  = 50
	minHeight = 12
)

// View draws the screen.
func (m *model) View() tea.View {
	view := tea.NewView(m.draw())
	view.AltScreen = true
	return view
}

func (m *model) draw() string {
	if m.screen.width == 0 {
		return ""
	}
	if m.screen.width < minWidth || m.screen.height < minHeight {
		return ansi.Wrap(fmt.Sprintf("This form needs a terminal of %d×%d; this one has %d×%d. Enlarge it, or press esc.",
			minWidth, minHeight, m.screen.width, m.screen.height), m.screen.width, "")
	}
	if m.page != questionPage || m.current == nil {
		return m.join(m.scrolledPage(), m.bodyHeight(0))
	}
	excerpt := m.excerptHeight()
	height := m.bodyHeight(excerpt)
	if excerpt == 0 {
		return m.join(m.body(), height)
	}
	lines := append(fit(m.body(), height), m.rule("preview"))
	return m.join(append(lines, m.previewExcerpt()...), height+excerpt+1)
}

// excerptHeight is the number of lines of the preview below a question.
func (m *model) excerptHeight() int {
	if m.request.Preview == nil {
		return 0
	}
	return min(max(m.screen.height/4, 3), 14)
}

// bodyHeight is the number of lines between the title and the keys, without an excerpt of
// the preview and the rule above it.
func (m *model) bodyHeight(excerpt int) int {
	height := m.screen.height - 3
	if excerpt > 0 {
		height -= excerpt + 1
	}
	return height
}

// join puts the title above the body and the keys below it. No line is wider than the
// screen.
func (m *model) join(body []string, height int) string {
	lines := append([]string{m.header(), m.rule("")}, fit(body, height)...)
	lines = append(lines, m.footer())
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, m.screen.width, "…")
	}
	return strings.Join(lines, "\n")
}

func (m *model) rule(name string) string {
	if name != "" {
		name = "─ " + name + " "
	}
	return m.styles.Rule.Render(name + strings.Repeat("─", max(0, m.screen.width-lipgloss.Width(name))))
}

// header is the title and the progress.
func (m *model) header() string {
	place := "review"
	switch {
	case m.page == helpPage:
		place = "keys"
	case m.page == previewPage:
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
	title := ansi.Truncate(termtext.Escape(m.request.Title), max(0, m.screen.width-lipgloss.Width(place)-2), "…")
	gap := max(1, m.screen.width-lipgloss.Width(title)-lipgloss.Width(place))
	return m.styles.Title.Render(title) + strings.Repeat(" ", gap) + m.styles.Faint.Render(place)
}

// footer is the most important keys.
func (m *model) footer() string {
	var bindings []key.Binding
	switch {
	case m.page != questionPage:
		bindings = []key.Binding{m.keys.Up, m.keys.Down, bindingFor("esc", "close")}
	case m.current == nil:
		next := m.keys.Next
		next.SetHelp("enter", strings.ToLower(m.request.action()))
		bindings = []key.Binding{next, m.keys.Back, m.keys.Cancel, m.keys.Up, m.keys.Down, m.keys.Help}
	case m.filtering():
		bindings = m.questionKeys()
	default:
		bindings = append(m.questionKeys(), m.keys.Cancel, m.keys.Review, m.keys.Help, m.keys.Read)
	}
	var parts []string
	for _, binding := range bindings {
		parts = append(parts, binding.Help().Key+" "+binding.Help().Desc)
	}
	return m.styles.Faint.Render(strings.Join(parts, " · "))
}
