package settings

import (
	"fmt"
	"strings"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/paths"
	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// The measures of the screen, in cells.
const (
	listTop  = frame.HeadRows
	footRows = 1   // the last note
	beside   = 100 // from this width on the setting is beside the list
	leastRow = 3   // of the list, however small the screen is
)

func (m *Model) wide() bool { return m.width >= beside }

// bodyHeight returns the rows between the head and what was said.
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

// paneLeft, paneTop, paneWidth and paneHeight are where the selected setting is
// told.
func (m *Model) paneLeft() int {
	if m.wide() {
		return m.listWidth() + frame.PaneGap
	}
	return 0
}

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
	list, pane := m.list(), m.pane()
	switch {
	case m.broken != nil || !m.loaded || len(m.rows) == 0:
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

// head returns the title with the numbers, and whose settings are shown.
func (m *Model) head() string {
	left := m.theme.Title.Render("Settings")
	if !m.loaded || m.broken != nil {
		return left
	}
	set := 0
	for _, setting := range m.book.Held {
		if setting.Source().Kind != config.BuiltIn {
			set++
		}
	}
	left += fmt.Sprintf("  %d of %d set", set, len(m.book.Held))
	if m.changed {
		left += m.theme.Warn.Render(" · only these")
	}
	if m.book.Repository != "" {
		left += m.theme.Faint.Render(" · in " + termtext.Escape(paths.Short(m.book.Repository)))
	}
	return left
}

func (m *Model) filterView() string {
	switch {
	case m.filtering:
		return m.filter.View()
	case m.filter.Value() != "":
		return m.theme.Key.Render("/") + termtext.Escape(m.filter.Value())
	default:
		return ""
	}
}

// empty returns the body where there is no setting to show.
func (m *Model) empty() []string {
	switch {
	case !m.loaded:
		return []string{"", m.theme.Faint.Render("  reading the settings…")}
	case m.broken != nil:
		// The error has an excerpt of the file, line by line.
		out := []string{""}
		for line := range strings.SplitSeq(ansi.Wrap(termtext.Text(m.broken.Error()), max(10, m.width-4), ""), "\n") {
			out = append(out, "  "+m.theme.Bad.Render(line))
		}
		for _, hint := range fault.Hints(m.broken) {
			out = append(out, "  → "+termtext.Escape(hint))
		}
		return append(out, "", "  "+m.theme.Key.Render("o")+" opens your file in the editor; nothing new starts until this is fixed")
	case m.filter.Value() != "":
		return []string{"", m.theme.Faint.Render("  no setting has all of these words; esc clears the filter")}
	default:
		return []string{"", m.theme.Faint.Render("  no setting is changed; c shows all settings")}
	}
}

// list returns the lines of the list.
func (m *Model) list() []string {
	from, to := m.cursor.Window()
	lines := make([]string, 0, m.listHeight())
	for i := from; i < to; i++ {
		lines = append(lines, m.line(m.rows[i], i == m.cursor.At()))
	}
	return frame.Fill(lines, m.listHeight())
}

// line returns one row: the name without its section, the value, and where that came from.
func (m *Model) line(r row, here bool) string {
	width := m.listWidth()
	if r.heading != "" {
		return m.theme.Title.Render(ansi.Truncate(r.heading, width, "…"))
	}
	nameWidth := min(24, max(12, width/3))
	originWidth := 0
	if width >= 60 {
		originWidth = min(32, width/3)
	}
	value := termtext.Escape(r.setting.Text())
	origin := tail(r.setting.Origin(), originWidth-1)
	builtIn := r.setting.Source().Kind == config.BuiltIn
	if value == "" && builtIn {
		value = "–"
	}
	left := cursor.Here(here) + " " + frame.Pad(r.setting.Field.Key, nameWidth-1) + " "
	middle := frame.Pad(value, max(4, width-nameWidth-2-originWidth))
	right := ""
	if originWidth > 0 {
		right = " " + frame.Pad(origin, originWidth-1)
	}
	switch {
	case here:
		return m.theme.Selected.Render(frame.Pad(left+middle+right, width))
	case builtIn:
		return frame.Pad(left+m.theme.Faint.Render(middle+right), width)
	default:
		return frame.Pad(left+m.theme.Good.Render(middle)+m.theme.Faint.Render(right), width)
	}
}

// tail returns the end of a text that is too long: of a path it says the most.
func tail(text string, width int) string {
	if over := ansi.StringWidth(text) - width; over > 0 && width > 0 {
		return ansi.TruncateLeft(text, over+1, "…")
	}
	return text
}

// pane tells everything about the selected setting, or lets them change it.
func (m *Model) pane() []string {
	setting, some := m.current()
	if !some {
		return frame.Fill(nil, m.paneHeight())
	}
	width := m.paneWidth()
	lines := []string{m.theme.Title.Render(ansi.Truncate(setting.Field.Label, width, "…")) + m.theme.Faint.Render("  "+setting.Key)}
	if m.edit != nil {
		lines = append(lines, m.editView(width)...)
	} else {
		lines = append(lines, wrap(setting.Field.Help, width)...)
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

// facts returns what is known of a setting, a line each.
func (m *Model) facts(setting config.Setting, width int) []string {
	var lines []string
	fact := func(name, text string) {
		wrapped := wrap(text, max(10, width-factWidth))
		for i, line := range wrapped {
			label := name
			if i > 0 {
				label = ""
			}
			lines = append(lines, m.theme.Faint.Render(frame.Pad(label, factWidth))+line)
		}
	}
	if m.edit == nil {
		fact("value", orNothing(setting.Text()))
		fact("from", setting.Origin())
	}
	own, known := m.book.Own[setting.Key]
	inFile := known && own.Source().Kind == config.UserFile
	if last := setting.Source().Kind; inFile && last > config.UserFile {
		fact("your file", orNothing(own.Text())+"; the later place counts")
	}
	fact("built in", orNothing(setting.Default()))
	fact("takes", setting.Takes())
	if variable := setting.Variable(); variable != "" {
		fact("variable", variable)
	}
	fact("a repository", "may "+setting.May())
	return lines
}

// factWidth is the columns of a fact's name.
const factWidth = 14

func orNothing(text string) string {
	if text == "" {
		return "not set"
	}
	return termtext.Escape(text)
}

func wrap(text string, width int) []string {
	return strings.Split(ansi.Wrap(text, max(1, width), ""), "\n")
}

// editView returns the line to type in or the values to choose from, and what is wrong.
func (m *Model) editView(width int) []string {
	e := m.edit
	var lines []string
	if len(e.choices) == 0 {
		lines = append(lines, e.line.View())
	} else {
		_, from, room := m.choicesAt()
		for i := from; i < min(len(e.choices), from+room); i++ {
			lines = append(lines, m.choice(i, width))
		}
	}
	if e.blank {
		return append(lines, m.theme.Faint.Render("nothing is set"))
	}
	if e.problem == nil {
		return append(lines, m.theme.Good.Render("✓ can be saved"))
	}
	// A word of the file may be in the sentence; it is shown as one line.
	said := wrap("✗ "+termtext.Escape(e.problem.Error()), width)
	if len(said) > 2 {
		said = append(said[:1], ansi.Truncate(said[1]+" "+said[2], width, "…"))
	}
	for _, line := range said {
		lines = append(lines, m.theme.Bad.Render(line))
	}
	if hints := fault.Hints(e.problem); len(hints) > 0 {
		lines = append(lines, m.theme.Faint.Render("→ "+termtext.Escape(hints[0])))
	}
	return lines
}

// choice returns one value to choose.
func (m *Model) choice(i, width int) string {
	e := m.edit
	mark := cursor.Here(i == e.at) + " "
	switch {
	case e.multiple && e.picked[i]:
		mark += "[x] "
	case e.multiple:
		mark += "[ ] "
	}
	text := mark + termtext.Escape(e.choices[i])
	if i == e.at {
		return m.theme.Selected.Render(frame.Pad(text, min(width, 40)))
	}
	return text
}

// choicesAt returns the row of the screen where the values to choose from begin, the first
// one that is shown, and how many fit.
func (m *Model) choicesAt() (top, from, room int) {
	room = max(1, min(len(m.edit.choices), m.paneHeight()-3))
	from = max(0, min(m.edit.at-room/2, len(m.edit.choices)-room))
	return m.paneTop() + 1, from, room
}
