package newrun

import (
	"fmt"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/config"
	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/session/draft"
	"aibox/ui/cursor"
	"aibox/ui/dialog"
	"aibox/ui/frame"
	"aibox/ui/theme"
	"aibox/workspace"

	"charm.land/bubbles/v2/textarea"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

const (
	beside   = 110 // from this width on the steps stand beside the step
	sideCols = 30
	tight    = 15 // rows; below it the foot is short
	hideRows = 3  // rows for the files that are hidden
)

func (m *Model) wide() bool { return m.width >= beside }

// foot is the rows of the command line and of what is to be told.
func (m *Model) foot() (command, rows int) {
	if m.height < tight {
		return 1, 2
	}
	return 2, 4 // with a rule
}

// top is the rows above the step.
func (m *Model) top() int {
	if m.wide() {
		return frame.HeadRows
	}
	return frame.HeadRows + 1 // the steps in one line
}

// body is the cells of the step.
func (m *Model) body() (width, height int) {
	_, foot := m.foot()
	width, height = m.width, max(1, m.height-m.top()-foot)
	if m.wide() {
		width -= sideCols + frame.PaneGap
	}
	return width, height
}

// SetSize tells the cells there are.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.fit()
}

// fit gives the parts their sizes.
func (m *Model) fit() {
	width, height := m.body()
	m.where.repository.size(width, height-1) // a row says which of the two is asked for
	m.where.branch.size(width, height-1)
	m.agent.size(width, height)
	m.task.editor.SetWidth(max(1, width))
	m.task.editor.SetHeight(max(1, height-m.belowTask()))
	m.task.at.Fit(len(m.task.named), max(1, m.belowTask()))
	m.task.shelf.Fit(len(m.library()), max(1, height-2))
	m.options.part.SetSize(width, height)
	m.box.part.SetSize(width, max(1, height-m.belowBox()))
}

// belowTask is the rows below the editor: the files that can be named, or what is said
// before the task.
func (m *Model) belowTask() int {
	_, height := m.body()
	switch {
	case len(m.task.named) > 0:
		return min(len(m.task.named), max(1, height/2))
	case len(m.system) > 0 && height > 3:
		return 1
	}
	return 0
}

// belowBox is the rows below the form for the hidden files.
func (m *Model) belowBox() int {
	if _, height := m.body(); height >= 10 {
		return hideRows
	}
	return 0
}

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
	styles.Cursor.Blink = false // an idle screen stays idle
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

// mark says how a step stands.
func (m *Model) mark(s step) string {
	done := true
	switch s {
	case where:
		done = m.place != nil
	case agent:
		done = m.draft.Agent != ""
	case task:
		a := m.agentOf(m.draft.Agent)
		done = m.task.prompt() != "" || a != nil && (!a.NeedsPrompt || m.draft.Interactive)
	case options:
		done = m.options.part.Problem() == nil
	case box:
		done = m.box.part.Problem() == nil
	case begin:
		done = m.wrong() == nil
	}
	if done {
		return m.theme.Good.Render("✓")
	}
	return m.theme.Warn.Render("·")
}

// tab is a step's place in the line of steps.
type tab struct {
	step     step
	from, to int // columns
	text     string
}

// places are the steps in one line.
func (m *Model) places() []tab {
	short, gap := m.short()
	var tabs []tab
	x := 0
	for s := range steps {
		name := stepNames[s]
		if short {
			name = ansi.Truncate(name, 4, "")
		}
		text := m.mark(s) + " " + name
		switch {
		case s == m.step && !m.inside:
			text = m.mark(s) + " " + m.theme.Selected.Render(cursor.Mark+name)
		case s == m.step:
			text = m.mark(s) + " " + m.theme.Live.Render(cursor.Mark+name)
		}
		size := ansi.StringWidth(text)
		tabs = append(tabs, tab{s, x, x + size, text})
		x += size + gap
	}
	return tabs
}

func (m *Model) tabs() string {
	var parts []string
	for _, t := range m.places() {
		parts = append(parts, t.text)
	}
	_, gap := m.short()
	return ansi.Truncate(strings.Join(parts, strings.Repeat(" ", gap)), m.width, "…")
}

// short reports whether the names of the steps are cut, and the blanks between them.
func (m *Model) short() (cut bool, gap int) {
	if m.width < 64 {
		return true, 1
	}
	return false, 2
}

// side is the steps below each other, each with what is chosen.
func (m *Model) side() []string {
	var out []string
	for s := range steps {
		name := stepNames[s]
		switch {
		case s == m.step && !m.inside:
			name = m.theme.Selected.Render(cursor.Mark + " " + name)
		case s == m.step:
			name = m.theme.Live.Render(cursor.Mark + " " + name)
		default:
			name = "  " + name
		}
		out = append(out, m.mark(s)+" "+name, m.theme.Faint.Render(ansi.Truncate("    "+m.says(s), sideCols, "…")))
	}
	return out
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
		line := mark + pad(p.Name, 20) + " " + pad(string(p.Source), 10) + " " + termtext.Escape(p.Title())
		if i == s.shelf.At() {
			line = m.theme.Selected.Render(pad(cursor.Mark+" "+line, width))
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
	globs := "hidden by " + strings.Join(m.checked.Hide, " ")
	if len(m.checked.Hide) == 0 {
		globs = "hidden from the agent"
	}
	out := []string{m.theme.Rule.Render(ansi.Truncate("─ "+termtext.Escape(globs)+" "+strings.Repeat("─", width), width, "…"))}
	switch names := m.files.hidden; {
	case m.files.err != nil:
		out = append(out, m.theme.Warn.Render("! "+termtext.Escape(m.files.err.Error())))
	case workspace.IsURL(m.repository()):
		out = append(out, m.theme.Faint.Render("which files these are is known when it has been cloned"))
	case m.files.of == "":
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

// footView is the command line, and what is to be told.
func (m *Model) footView() []string {
	command, rows := m.foot()
	var out []string
	if rows > command+1 {
		out = append(out, frame.Rule(m.theme, m.width))
	}
	line := draft.Line(m.words())
	line = termtext.Escape(strings.ToValidUTF8(line[:min(len(line), 8*m.width)], "")) // a task may be long
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
		if hints := fault.Hints(err); len(hints) > 0 {
			text += " → " + termtext.Escape(hints[0])
		}
		return m.theme.Bad.Render(ansi.Truncate(text, m.width, "…"))
	}
	if m.checked.Told != "" {
		return m.theme.Warn.Render(ansi.Truncate("! "+config.RepositoryName+" sets "+termtext.Escape(m.checked.Told), m.width, "…"))
	}
	return ansi.Truncate(m.theme.Good.Render("✓")+m.theme.Faint.Render(" it can be started; nothing comes back before you accept it"), m.width, "…")
}

// summary is what will be started.
func (m *Model) summary(width, height int) []string {
	button := m.theme.Button.Render("[ start ]")
	if m.wrong() != nil {
		button = m.theme.Faint.Render("[ start ]") + " not yet"
	}
	out := []string{button + m.theme.Faint.Render("  enter"), ""}
	row := func(name, text string) {
		for i, line := range wrapped(nil, text, max(10, width-14)) {
			if i > 0 {
				name = ""
			}
			out = append(out, m.theme.Faint.Render(pad(name, 13))+" "+line)
		}
	}
	from := "what is checked out"
	if m.draft.Branch != "" {
		from = termtext.Escape(m.draft.Branch)
	}
	row("repository", termtext.Escape(m.repository())+" from "+from)
	how := "works alone; its session can be watched"
	if m.draft.Interactive {
		how = "on this terminal; ctrl-p ctrl-q leaves it running"
	}
	row("agent", termtext.Escape(m.draft.Agent)+", "+how)
	if m.mustBake() {
		row("image", "has to be baked first, which takes some minutes")
	}
	if text := m.says(task); text != "" {
		row("task", text)
	}
	if settings, ok := m.box.part.Draft().(*config.Settings); ok {
		model := settings.Model
		if model == "" {
			model = "the one there is"
		}
		row("model", termtext.Escape(model+" of "+settings.Inference))
		words := fmt.Sprintf("network %s, %s, %d processes", settings.Network, limit(settings), settings.Pids)
		if m.files.of != "" {
			words += ", " + amount.Of(len(m.files.hidden), "file") + " hidden"
		}
		row("box", words)
		if settings.Verify != "" {
			row("verify", termtext.Escape(settings.Verify))
		}
		if m.checked.Stays {
			row("at its end", "accept: "+settings.Accept+"; it is followed on the whole terminal until then")
		}
	}
	if room := height - len(out) - 2; m.checked.Box != "" && room > 1 {
		out = append(out, "", m.theme.Faint.Render("in its box:"))
		out = append(out, wrapped(m.theme.Faint.Render, termtext.Text(m.checked.Box), width)...)
	}
	return out
}

// wrapped is text in lines of at most width columns, each in a style; nil is none.
func wrapped(style func(...string) string, text string, width int) []string {
	lines := strings.Split(ansi.Wrap(strings.TrimRight(text, "\n"), max(1, width), " "), "\n")
	if style != nil {
		for i, line := range lines {
			lines[i] = style(line)
		}
	}
	return lines
}
