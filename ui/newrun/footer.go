package newrun

import (
	"strings"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/ui/widget/frame"

	"github.com/charmbracelet/x/ansi"
)

// footer is the command line and a message.
func (m *Model) footer() []string {
	command, rows := m.layout.footer()
	var out []string
	if rows > command+1 {
		out = append(out, frame.Rule(m.theme, m.width))
	}
	most := 8 * m.width // bytes of a long task; more does not fit
	line := m.commandLine(m.request.Shortened(most))
	line = termtext.Escape(strings.ToValidUTF8(line[:min(len(line), most)], ""))
	lines := strings.Split(ansi.Hardwrap(line, m.width, true), "\n")
	if len(lines) > command {
		lines = lines[:command]
		lines[command-1] = ansi.Truncate(lines[command-1], m.width-2, "") + " …"
	}
	out = append(out, frame.Fill(lines, command)...)
	return append(out, m.message())
}

// message is one line: the last result, else a problem or a notice.
func (m *Model) message() string {
	if m.note.Text() != "" {
		return m.note.View(m.theme, m.width)
	}
	if m.start.state != notStarted {
		return "" // the step shows it
	}
	if text, _ := m.missing(); text != "" && m.at != stepStart { // no error yet
		return m.theme.Warn.Render("· next: " + text)
	}
	if err := m.problem(); err != nil {
		text := "✗ " + termtext.Escape(err.Error())
		// A hint that names a flag is for command lines. This screen has a field instead.
		if hints := fault.Hints(err); len(hints) > 0 && !strings.Contains(hints[0], "--") {
			text += " → " + termtext.Escape(hints[0])
		}
		return m.theme.Bad.Render(ansi.Truncate(text, m.width, "…"))
	}
	if m.model.running && m.at == stepStart {
		return m.theme.Faint.Render(ansi.Truncate("checking the model server…", m.width, "…"))
	}
	if set := m.checker.result.RepositorySettings; set != "" {
		return m.theme.Warn.Render(ansi.Truncate("! "+config.RepositoryName+" sets "+termtext.Escape(set), m.width, "…"))
	}
	if m.wanted.Edit == nil && m.agent.needsBake() {
		return m.theme.Warn.Render(ansi.Truncate("! the image must be baked first: b at the start bakes it and starts", m.width, "…"))
	}
	return ansi.Truncate(m.theme.Good.Render("✓")+m.theme.Faint.Render(" ready; nothing changes until you accept"), m.width, "…")
}
