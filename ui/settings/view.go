package settings

import (
	"fmt"
	"slices"
	"strings"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"github.com/charmbracelet/x/ansi"
)

// The measures of the screen, in cells.
const (
	listTop  = frame.HeadRows
	footRows = 1   // the last note
	beside   = 100 // from this width on the setting is beside the list
	leastRow = 3   // the minimum height of the list
)

func (m *Model) wide() bool { return m.width >= beside }

// bodyHeight returns the rows between the head and the note.
func (m *Model) bodyHeight() int { return max(1, m.height-frame.HeadRows-footRows) }

// listHeight returns the rows of the list.
func (m *Model) listHeight() int {
	if m.wide() {
		return m.bodyHeight()
	}
	return max(leastRow, min(m.bodyHeight()-5, m.bodyHeight()*2/5))
}

func (m *Model) listWidth() int {
	if m.wide() {
		return m.width*3/5 - frame.PaneGap
	}
	return m.width
}

// paneLeft returns the first column of the pane with the selected setting.
func (m *Model) paneLeft() int {
	if m.wide() {
		return m.listWidth() + frame.PaneGap
	}
	return 0
}

// paneTop returns the first row of the pane.
func (m *Model) paneTop() int {
	if m.wide() {
		return listTop
	}
	return listTop + m.listHeight() + 1
}

func (m *Model) paneWidth() int { return m.width - m.paneLeft() }

func (m *Model) paneHeight() int { return max(0, m.height-footRows-m.paneTop()) }

// View returns the screen.
func (m *Model) View() string {
	lines := frame.Head(m.theme, m.width, m.head(), m.filterView())
	lines[1] = frame.RuleAbove(m.theme, m.width, frame.Over{Text: m.list.position(), End: m.listWidth()})
	list, pane := m.list.view(m.theme), m.pane()
	switch {
	case m.readErr != nil || !m.loaded || len(m.list.rows) == 0:
		for _, line := range frame.Fill(m.empty(), m.bodyHeight()) {
			lines = append(lines, ansi.Truncate(line, m.width, "…"))
		}
	case m.wide():
		lines = append(lines, frame.Panes(m.theme, list, pane, m.listWidth())...)
	default:
		lines = append(append(append(lines, list...), frame.Rule(m.theme, m.width)), pane...)
	}
	return strings.Join(append(frame.Fill(lines, m.height-footRows), m.note.View(m.theme, m.width)), "\n")
}

// head returns the title, the number of changed settings and the repository.
func (m *Model) head() string {
	left := m.theme.Title.Render("Settings")
	if !m.loaded || m.readErr != nil {
		return left
	}
	set := 0
	for _, setting := range m.overview.Held {
		if setting.Source().Kind != config.BuiltIn {
			set++
		}
	}
	left += fmt.Sprintf("  %d of %d changed", set, len(m.overview.Held))
	if m.list.changed {
		left += m.theme.Warn.Render(" · only changed")
	}
	if m.overview.Repository != "" {
		left += m.theme.Faint.Render(" · in " + termtext.Escape(paths.Short(m.overview.Repository)))
	}
	return left
}

func (m *Model) filterView() string {
	switch {
	case m.list.filtering:
		return m.list.filter.View()
	case m.list.filter.Value() != "":
		return m.theme.Key.Render("/") + termtext.Escape(m.list.filter.Value())
	default:
		return ""
	}
}

// empty returns the body when there is no setting to show.
func (m *Model) empty() []string {
	switch {
	case !m.loaded:
		return []string{"", m.theme.Faint.Render("  loading settings…")}
	case m.readErr != nil:
		// The error contains an excerpt of the file.
		out := []string{""}
		for _, line := range frame.Wrap(termtext.Text(m.readErr.Error()), max(10, m.width-4)) {
			out = append(out, "  "+m.theme.Bad.Render(line))
		}
		for _, hint := range fault.Hints(m.readErr) {
			out = append(out, "  → "+termtext.Escape(hint))
		}
		return append(out, "", "  "+m.theme.Key.Render("o")+" opens your file in an editor. No session can start until this is fixed.")
	case m.list.filter.Value() != "":
		return []string{"", m.theme.Faint.Render("  no setting matches the search; esc clears it")}
	default:
		return []string{"", m.theme.Faint.Render("  no changed settings; c shows all")}
	}
}

// pane returns the selected setting in full, or its editor.
func (m *Model) pane() []string {
	setting, some := m.list.current()
	if !some {
		return frame.Fill(nil, m.paneHeight())
	}
	width := m.paneWidth()
	lines := []string{m.theme.Title.Render(ansi.Truncate(setting.Field.Label, width, "…")) + m.theme.Faint.Render("  "+setting.Key)}
	if m.edit != nil {
		lines = append(lines, m.editView(width)...)
	} else {
		lines = append(lines, frame.Wrap(setting.Field.Help, width)...)
	}
	if m.wide() {
		lines = append(lines, "")
	}
	lines = append(lines, m.facts(setting, width)...)
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, width, "…")
	}
	return frame.Fill(lines, m.paneHeight())
}

// facts returns the value of a setting, its source and its limits.
func (m *Model) facts(setting config.Setting, width int) []string {
	var lines []string
	fact := func(name, text string) {
		wrapped := frame.Wrap(text, max(10, width-factWidth))
		for i, line := range wrapped {
			label := name
			if i > 0 {
				label = ""
			}
			lines = append(lines, m.theme.Faint.Render(frame.Pad(label, factWidth))+line)
		}
	}
	if m.edit == nil {
		fact("value", orNothing(setting.Show()))
		fact("from", setting.Origin())
	}
	own, known := m.overview.Own[setting.Key]
	inFile := known && own.Source().Kind == config.UserFile
	if last := setting.Source().Kind; inFile && last > config.UserFile {
		fact("your file", orNothing(own.Show())+"; overridden")
	}
	fact("default", orNothing(setting.Default()))
	takes := setting.Takes()
	if choices := m.overview.Choices(setting); len(choices) > 0 && len(setting.Values()) == 0 {
		takes = "one of " + termtext.Escape(strings.Join(choices, ", "))
	}
	fact("takes", takes)
	if variable := setting.Variable(); variable != "" {
		fact("variable", variable)
	}
	fact("a repository", "may "+setting.May())
	return lines
}

// factWidth is the width of the names of facts.
const factWidth = 14

func orNothing(text string) string {
	if text == "" {
		return "not set"
	}
	return termtext.Escape(text)
}

// editView returns the field or the choices, and whether the value is valid.
func (m *Model) editView(width int) []string {
	e := m.edit
	var lines []string
	if len(e.choices) == 0 {
		lines = append(lines, e.line.View())
	} else {
		from, room := e.window(m.paneHeight())
		position := cursor.Range(from, min(len(e.shown), from+room), len(e.shown))
		lines = append(lines, frame.FieldEnds(width, e.line.View(), m.theme.Faint.Render(position)))
		for _, i := range e.shown[from:min(len(e.shown), from+room)] {
			lines = append(lines, e.choice(m.theme, i, width))
		}
	}
	if e.blank() {
		return append(lines, m.theme.Faint.Render("no value"))
	}
	if e.problem == nil {
		return append(lines, m.theme.Good.Render("✓ valid"))
	}
	text := frame.Wrap("✗ "+termtext.Escape(e.problem.Error()), width)
	if len(text) > 2 {
		text = append(text[:1], ansi.Truncate(text[1]+" "+text[2], width, "…"))
	}
	for _, line := range text {
		lines = append(lines, m.theme.Bad.Render(line))
	}
	if hints := fault.Hints(e.problem); len(hints) > 0 {
		lines = append(lines, m.theme.Faint.Render("→ "+termtext.Escape(hints[0])))
	}
	return lines
}

// choice returns choice i as a line.
func (e *edit) choice(t theme.Theme, i, width int) string {
	mark := cursor.Here(i == e.at) + " "
	switch {
	case e.multiple && e.picked[i]:
		mark += "[x] "
	case e.multiple:
		mark += "[ ] "
	}
	text := mark + termtext.Escape(e.choices[i])
	if i == e.at {
		return t.Selected.Render(frame.Pad(text, min(width, 40)))
	}
	return text
}

// window returns the first of the matching choices that is shown in a pane of some height,
// and how many are.
func (e *edit) window(height int) (from, room int) {
	room = max(1, min(len(e.shown), height-4))
	return max(0, min(slices.Index(e.shown, e.at)-room/2, len(e.shown)-room)), room
}
