package newrun

import (
	"fmt"
	"slices"
	"strings"

	"aibox/internal/termtext"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"
	"aibox/workspace"

	"charm.land/bubbles/v2/textarea"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) {
	m.theme = t
	m.dress()
}

// dress gives the widgets the styles.
func (m *Model) dress() {
	plain := textarea.StyleState{
		Base: lipgloss.NewStyle(), Text: lipgloss.NewStyle(), CursorLine: lipgloss.NewStyle(), EndOfBuffer: lipgloss.NewStyle(),
		Placeholder: m.theme.Faint, Prompt: lipgloss.NewStyle(),
	}
	styles := m.task.editor.Styles()
	styles.Focused, styles.Blurred = plain, plain
	m.task.editor.SetStyles(styles)
	m.dressParts()
}

func (m *Model) dressParts() {
	m.options.part.SetTheme(m.theme)
	m.box.part.SetTheme(m.theme)
	m.fit()
}

// View is the screen.
func (m *Model) View() string {
	m.fit()
	width, height := m.body()
	right := m.says(where) + " · " + m.says(agent)
	lines := frame.Head(m.theme, m.width, m.theme.Title.Render("New run"), m.theme.Faint.Render(ansi.Truncate(right, m.width/2, "…")))
	body := frame.Fill(m.stepView(width, height), height)
	for i, line := range body {
		body[i] = ansi.Truncate(line, width, "…")
	}
	if m.wide() {
		body = frame.Panes(m.theme, frame.Fill(m.side(), height), body, sideCols)
	} else {
		lines = append(lines, m.tabs())
	}
	lines = append(append(lines, body...), m.footView()...)
	view := strings.Join(frame.Fill(lines, m.height), "\n")
	if m.ask != nil {
		view = dialog.Over(view, m.ask.View(m.theme, m.width), m.width, m.height)
	}
	return view
}

func (m *Model) stepView(width, height int) []string {
	switch m.step {
	case where:
		return m.whereView(width)
	case agent:
		return m.agent.view(m.theme, width, m.inside)
	case task:
		return m.taskView(width, height)
	case options:
		return m.options.part.View()
	case box:
		return append(m.box.part.View(), m.hiddenView(width)...)
	default:
		return m.beginView(width, height)
	}
}

func (m *Model) whereView(width int) []string {
	w := &m.where
	head := "Where is the work?"
	p := &w.repository
	if w.second {
		head, p = "What does it start from? ("+m.says(where)+")", &w.branch
	}
	out := append([]string{m.theme.Faint.Render(head)}, p.view(m.theme, width, m.inside)...)
	switch {
	case !w.second && m.looked != nil:
		out = append(out, m.theme.Bad.Render("✗ "+termtext.Escape(m.looked.Error())))
	case !w.second && m.chosen != "" && m.place == nil:
		out = append(out, m.theme.Faint.Render("looking at "+termtext.Escape(m.chosen)+"…"))
	case w.second && w.unknown != nil:
		out = append(out, m.theme.Warn.Render("! "+termtext.Escape(w.unknown.Error())))
	case w.second && w.branches == nil:
		out = append(out, m.theme.Faint.Render("asking for its branches…"))
	}
	return out
}

func (m *Model) taskView(width, height int) []string {
	s := &m.task
	if s.opened {
		return m.libraryView(width)
	}
	out := frame.Fill(strings.Split(s.editor.View(), "\n"), height-m.belowTask())
	from, to := s.at.Window()
	for i := from; i < to && i < len(s.named); i++ {
		line := "@" + s.named[i]
		if i == s.at.At() {
			line = m.theme.Selected.Render(cursor.Mark + " " + line)
		} else {
			line = "  " + line
		}
		out = append(out, line)
	}
	if len(s.named) == 0 && m.belowTask() > 0 {
		out = append(out, m.theme.Faint.Render("said before it: "+strings.Join(m.system, ", ")))
	}
	return out
}

func (m *Model) libraryView(width int) []string {
	s, all := &m.task, m.library()
	out := []string{m.theme.Title.Render("Prompts") + m.theme.Faint.Render("  marked ones are said before the task")}
	if len(all) == 0 {
		return append(out, "", "There is none yet; `aibox prompts edit NAME` writes one.")
	}
	from, to := s.shelf.Window()
	for i := from; i < to && i < len(all); i++ {
		p := all[i]
		mark := "[ ] "
		if slices.Contains(m.system, p.Name) {
			mark = "[x] "
		}
		line := mark + frame.Pad(p.Name, 20) + " " + frame.Pad(string(p.Source), 10) + " " + termtext.Escape(p.Title())
		if i == s.shelf.At() {
			line = m.theme.Selected.Render(frame.Pad(cursor.Mark+" "+line, width))
		} else {
			line = "  " + line
		}
		out = append(out, line)
	}
	return out
}

// hiddenView is the files that the agent does not see.
func (m *Model) hiddenView(width int) []string {
	rows := m.belowBox()
	if rows == 0 {
		return nil
	}
	globs := strings.Join(append([]string{"hidden: .env files, private keys"}, m.checked.Hide...), ", ")
	out := []string{m.theme.Rule.Render(ansi.Truncate("─ "+termtext.Escape(globs)+" "+strings.Repeat("─", width), width, "…"))}
	switch names := m.files.hidden; {
	case m.files.err != nil:
		out = append(out, m.theme.Warn.Render("! "+termtext.Escape(m.files.err.Error())))
	case workspace.IsURL(m.repository()):
		out = append(out, m.theme.Faint.Render("which files these are is known when it has been cloned"))
	case m.files.of == nil:
		out = append(out, m.theme.Faint.Render("which files these are is known when the repository has been read"))
	case len(names) == 0:
		out = append(out, m.theme.Faint.Render("no file of the repository"))
	default:
		shown := make([]string, 0, 50)
		for _, name := range names[:min(len(names), cap(shown))] {
			shown = append(shown, termtext.Escape(name))
		}
		lines := strings.Split(ansi.Wrap(fmt.Sprintf("%d: ", len(names))+strings.Join(shown, " · "), width, ""), "\n")
		if len(lines) > rows-1 {
			lines = lines[:rows-1]
			lines[rows-2] = ansi.Truncate(lines[rows-2], width-2, "") + " …"
		}
		out = append(out, lines...)
	}
	return frame.Fill(out, rows)
}
