package form

import (
	"strings"

	"aibox/agents/spec"
	"aibox/internal/termtext"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// refreshPreview makes the preview of the draft.
func (m *model) refreshPreview() {
	m.preview = nil
	if m.request.Preview != nil {
		m.preview = strings.Split(strings.TrimRight(termtext.Text(m.request.Preview(m.draft)), "\n"), "\n")
	}
}

// wrappedPreview is the preview in lines of the screen's width.
func (m *model) wrappedPreview() []string {
	var lines []string
	for _, line := range m.preview {
		lines = append(lines, strings.Split(ansi.Wrap(line, m.screen.width, " "), "\n")...)
	}
	return lines
}

// previewExcerpt is the beginning of the preview, with a note if there is more.
func (m *model) previewExcerpt() []string {
	lines, height := m.wrappedPreview(), m.excerptHeight()
	if len(lines) <= height {
		return lines
	}
	return append(lines[:height-1:height-1], m.styles.Faint.Render("… ctrl+o shows all of it"))
}

// scrolledPage is the page from the first line to show.
func (m *model) scrolledPage() []string {
	lines := m.pageLines()
	m.scroll = min(m.scroll, max(0, len(lines)-m.bodyHeight(0)))
	return lines[m.scroll:]
}

// pageLines are all lines of a page without a question.
func (m *model) pageLines() []string {
	switch m.page {
	case helpPage:
		return m.helpLines()
	case previewPage:
		return m.wrappedPreview()
	}
	lines := m.wrappedPreview()
	if len(lines) == 0 {
		lines = m.overview(len(m.fields) * 2)
	}
	return append(m.problemLines(m.screen.width), lines...)
}

// pressPage handles a key on the preview or the help.
func (m *model) pressPage(msg tea.KeyPressMsg) {
	if key.Matches(msg, m.keys.Cancel, m.keys.Help, m.keys.Read, m.keys.Next) {
		m.page, m.scroll = questionPage, 0
		return
	}
	m.scrollBy(msg)
}

// scrollBy handles a key that scrolls the page.
func (m *model) scrollBy(msg tea.KeyPressMsg) {
	switch page := max(1, m.bodyHeight(0)-1); {
	case key.Matches(msg, m.keys.Up):
		m.scroll--
	case key.Matches(msg, m.keys.Down):
		m.scroll++
	case key.Matches(msg, m.keys.PageUp):
		m.scroll -= page
	case key.Matches(msg, m.keys.PageDown):
		m.scroll += page
	}
	m.scroll = max(0, min(m.scroll, len(m.pageLines())-m.bodyHeight(0)))
}

// helpLines are all keys.
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
	add("Where there are suggestions", (&answer{suggestions: []string{""}}).keys()...)
	return lines
}
