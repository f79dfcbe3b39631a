package newrun

import (
	"strings"

	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) {
	m.theme = t
	m.task.setTheme(t)
	m.options.setTheme(t)
	m.sandbox.setTheme(t)
	m.fit()
}

// SetSize sets the size in cells.
func (m *Model) SetSize(width, height int) {
	m.layout = layout{width, height}
	m.fit()
}

// fit gives the steps their size.
func (m *Model) fit() {
	width, height := m.body()
	for _, s := range m.steps {
		s.setSize(width, height)
	}
}

// View is the screen.
func (m *Model) View() string {
	m.fit()
	width, height := m.body()
	repository, _ := m.repository.status()
	agent, _ := m.agent.status()
	lines := frame.Head(m.theme, m.width, m.theme.Title.Render("New run"), m.theme.Faint.Render(ansi.Truncate(repository+" · "+agent, m.width/2, "…")))
	if long, ok := m.current().(interface{ position() (string, int) }); ok {
		text, end := long.position()
		lines[1] = frame.RuleAbove(m.theme, m.width, frame.Over{Text: text, End: m.left() + end})
	}
	body := frame.Fill(m.current().view(m.theme, m.inside), height)
	for i, line := range body {
		body[i] = ansi.Truncate(line, width, "…")
	}
	if m.wide() {
		body = frame.Panes(m.theme, frame.Fill(m.navigation().column(), height), body, sideCols)
	} else {
		lines = append(lines, m.navigation().line())
	}
	lines = append(append(lines, body...), m.footer()...)
	return m.ask.Over(strings.Join(frame.Fill(lines, m.height), "\n"), m.theme, m.width, m.height)
}
