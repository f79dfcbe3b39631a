package form

import (
	"strings"

	"aibox/agents/spec"
	"aibox/internal/termtext"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// refresh asks for the preview of the draft.
func (m *model) refresh() {
	m.preview = nil
	if m.request.Preview != nil {
		m.preview = strings.Split(strings.TrimRight(termtext.Text(m.request.Preview(m.draft)), "\n"), "\n")
	}
}

// wrapped is the preview in lines of the screen's width.
func (m *model) wrapped() []string {
	var lines []string
	for _, line := range m.preview {
		lines = append(lines, strings.Split(ansi.Wrap(line, m.width, " "), "\n")...)
	}
	return lines
}

// glimpse is the beginning of the preview, and how much more there is.
func (m *model) glimpse() []string {
	lines, height := m.wrapped(), m.glimpseHeight()
	if len(lines) <= height {
		return lines
	}
	return append(lines[:height-1:height-1], m.styles.Faint.Render("… ctrl+o shows all of it"))
}

// long is the page that may be longer than the screen, from its scroll on.
func (m *model) long() []string {
	lines := m.pageLines()
	m.scroll = min(m.scroll, max(0, len(lines)-m.bodyHeight()))
	return lines[m.scroll:]
}

func (m *model) pageLines() []string {
	switch {
	case m.page == helping:
		return m.helpLines()
	case m.page == reading:
		return m.wrapped()
	}
	lines := m.wrapped()
	if len(lines) == 0 {
		lines = m.list(len(m.fields) * 2)
	}
	if problem := m.trouble(); problem != "" {
		lines = append(strings.Split(m.styles.Problem.Render(ansi.Wrap("✗ "+problem, m.width, "")), "\n"), lines...)
	}
	return lines
}

// turn is a key on a page other than the questions.
func (m *model) turn(msg tea.KeyPressMsg) {
	if key.Matches(msg, m.keys.Cancel, m.keys.Help, m.keys.Read, m.keys.Next) {
		m.page, m.scroll = asking, 0
		return
	}
	m.scrolled(msg)
}

func (m *model) scrolled(msg tea.KeyPressMsg) {
	switch page := max(1, m.bodyHeight()-1); {
	case key.Matches(msg, m.keys.Up):
		m.scroll--
	case key.Matches(msg, m.keys.Down):
		m.scroll++
	case key.Matches(msg, m.keys.PageUp):
		m.scroll -= page
	case key.Matches(msg, m.keys.PageDown):
		m.scroll += page
	}
	m.scroll = max(0, min(m.scroll, len(m.pageLines())-m.bodyHeight()))
}

// helpLines are every key there is.
func (m *model) helpLines() []string {
	lines := []string{}
	add := func(heading string, bindings ...key.Binding) {
		lines = append(lines, m.styles.Section.Render(heading))
		for _, binding := range bindings {
			shown := binding.Help()
			lines = append(lines, "  "+shown.Key+strings.Repeat(" ", max(1, 12-ansi.StringWidth(shown.Key)))+shown.Desc)
		}
	}
	add("Everywhere", bindingFor("enter, tab", "next question; in text of several lines, tab"), m.keys.Back, m.keys.Review,
		m.keys.Read, m.keys.Help, bindingFor("esc, ctrl+c", "cancel: nothing is changed"))
	for _, kind := range []struct {
		name string
		kind spec.Type
	}{{"On or off", spec.Bool}, {"One of several", spec.Choice}, {"Some of several", spec.Choices}, {"Text and lists", spec.Text}} {
		add(kind.name, (&answer{field: spec.Field{Type: kind.kind}}).keys()...)
	}
	add("Where there are suggestions", (&answer{offered: []string{""}}).keys()...)
	return lines
}
