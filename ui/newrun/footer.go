package newrun

import (
	"strings"

	"aibox/app/run"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// footView is the command line, and what is to be told.
func (m *Model) footView() []string {
	command, rows := m.foot()
	var out []string
	if rows > command+1 {
		out = append(out, frame.Rule(m.theme, m.width))
	}
	most := 8 * m.width // bytes of the task, which may be long: more does not fit
	line := run.Line(m.words(m.draft.Shortened(most)))
	line = termtext.Escape(strings.ToValidUTF8(line[:min(len(line), most)], ""))
	lines := strings.Split(ansi.Hardwrap(line, m.width, true), "\n")
	if len(lines) > command {
		lines = lines[:command]
		lines[command-1] = ansi.Truncate(lines[command-1], m.width-2, "") + " …"
	}
	out = append(out, frame.Fill(lines, command)...)
	return append(out, m.told())
}

// told is one line: what was said last, else what is wrong or worth knowing.
func (m *Model) told() string {
	if m.note.Text() != "" {
		return m.note.View(m.theme, m.width)
	}
	if m.begin != nil && (m.begin.running || m.begin.id != "" || m.begin.err != nil) {
		return "" // it stands in the step
	}
	if err := m.wrong(); err != nil {
		text := "✗ " + termtext.Escape(err.Error())
		// A hint that names a flag is for command lines: here is a field for it.
		if hints := fault.Hints(err); len(hints) > 0 && !strings.Contains(hints[0], "--") {
			text += " → " + termtext.Escape(hints[0])
		}
		return m.theme.Bad.Render(ansi.Truncate(text, m.width, "…"))
	}
	if m.checked.Told != "" {
		return m.theme.Warn.Render(ansi.Truncate("! "+config.RepositoryName+" sets "+termtext.Escape(m.checked.Told), m.width, "…"))
	}
	return ansi.Truncate(m.theme.Good.Render("✓")+m.theme.Faint.Render(" it can be started; nothing comes back before you accept it"), m.width, "…")
}
