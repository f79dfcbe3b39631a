package welcome

import (
	"strings"

	"aibox/app/doctor"
	"aibox/internal/termtext"
	"aibox/ui/widget/bakes"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// placement holds the rows that can be clicked, as drawn by View.
type placement struct {
	steps int  // the row of the first step
	list  int  // the row of the first line of the list
	short bool // only the selected step is shown
}

// Heading is the title of the steps.
const Heading = "Steps to your first session"

// The measures of View, in cells.
const (
	margin    = 2
	roomy     = 14 // from this height on all steps are shown
	stepWidth = 13 // of the name of a step
)

var stepNames = [stepCount]string{"this machine", "an agent", "a model", "your session"}

// View returns the steps and the selected one in full, in at most height lines of at most
// width columns.
func (m *Model) View(t theme.Theme, width, height int) []string {
	if m.services.Machine == nil {
		return []string{"", "  No sessions yet. " + t.Key.Render("n") + " starts one."}
	}
	p := bakes.Painter{Theme: t, Now: m.now()}
	m.shown = placement{short: height < roomy}
	var out []string
	if !m.shown.short {
		out = append(out, "", ansi.Truncate("  No sessions yet. "+t.Title.Render(Heading)+":", width, "…"), "")
	}
	m.shown.steps = len(out)
	for id := range stepCount {
		if id == m.at || !m.shown.short {
			out = append(out, m.stepLine(p, id, width))
		}
	}
	rule := t.Rule.Render(strings.Repeat("─", max(0, width-2*margin)))
	out = append(out, strings.Repeat(" ", margin)+rule)
	m.shown.list = len(out) + 1 // below the line that explains the list
	if m.Typing() {
		m.shown.list++ // and below the field
	}
	room := max(1, height-len(out))
	var problem []string
	if m.err != nil {
		problem = p.Error(m.err, max(1, width-2*margin))
		problem = problem[:min(len(problem), max(1, room/2))]
		room = max(1, room-len(problem))
	}
	panel := m.panel(p, max(1, width-2*margin), room)
	panel = append(panel[:min(len(panel), room)], problem...)
	for _, line := range panel {
		out = append(out, strings.Repeat(" ", margin)+line)
	}
	return out
}

// stepLine returns a step with its state.
func (m *Model) stepLine(p bakes.Painter, id stepID, width int) string {
	t := p.Theme
	mark, style := m.mark(p, id)
	text, textStyle := m.text(p, id)
	name := frame.Pad(stepNames[id], stepWidth)
	if id == m.at {
		name = t.Title.Render(name)
	}
	line := cursor.Here(id == m.at) + " " + t.Faint.Render(string(rune('1'+id))) + " " + style.Render(mark) + " " + name + " " + textStyle.Render(text)
	return ansi.Truncate(line, width, "…")
}

// mark returns the mark of a step. It shows the state without color.
func (m *Model) mark(p bakes.Painter, id stepID) (string, lipgloss.Style) {
	t := p.Theme
	switch {
	case m.done(id):
		return "✓", t.Good
	case id == stepMachine && m.readiness().State == doctor.Missing:
		return "✗", t.Bad
	case id == stepMachine:
		return "…", t.Faint
	case id == stepAgent && m.agent.working() != nil:
		return p.Spinner(), t.Live
	case id == stepSession && m.next() == stepSession:
		return "▸", t.Live
	default:
		return "·", t.Faint
	}
}

// text returns the state of a step in a few words.
func (m *Model) text(p bakes.Painter, id stepID) (string, lipgloss.Style) {
	t := p.Theme
	switch id {
	case stepMachine:
		r := m.readiness()
		switch r.State {
		case doctor.OK:
			return "ready: " + termtext.Escape(r.Detail), t.Plain
		case "":
			return "checking…", t.Faint
		default:
			return termtext.Escape(r.Detail), t.Plain
		}
	case stepAgent:
		text, style := m.agent.text(p)
		return termtext.Escape(text), style
	case stepModel:
		if m.model.done() {
			return m.model.text(), t.Plain
		}
		return m.model.text(), t.Faint
	default:
		return "a repository and a task; you review what the agent changes", t.Faint
	}
}

// panel returns the selected step in full.
func (m *Model) panel(p bakes.Painter, width, height int) []string {
	switch m.at {
	case stepMachine:
		return m.machinePanel(p.Theme, width)
	case stepAgent:
		return m.agent.view(p, width, height)
	case stepModel:
		return m.model.view(p, width, height)
	default:
		return m.sessionPanel(p.Theme, width)
	}
}

// machinePanel describes the state of this machine, and how to fix it.
func (m *Model) machinePanel(t theme.Theme, width int) []string {
	r := m.readiness()
	var lines []string
	add := func(text string, style lipgloss.Style) {
		for _, line := range frame.Wrap(termtext.Escape(text), width) {
			lines = append(lines, style.Render(line))
		}
	}
	fix := doctor.Finding{State: r.State, Fix: r.Fix}
	_, own := fix.Command()
	command, root := fix.RootCommand()
	switch {
	case r.State == "":
		add("Checking what sandboxes need: Docker, gVisor and the network guard.", t.Faint)
		return lines
	case r.State == doctor.OK:
		add("This machine can start sandboxes.", t.Plain)
		return lines
	}
	add(r.Detail, t.Plain)
	switch {
	case own:
		add("enter sets up what is missing, with "+r.Fix+". It shows each step and asks before it changes anything.", t.Key)
	case root:
		add("This needs root: "+strings.Join(command, " "), t.Plain)
		add("enter runs it; you are asked first.", t.Key)
	default:
		if r.Fix != "" {
			add("To fix it: "+r.Fix+".", t.Plain)
		}
		add("enter shows all checks; r checks again.", t.Key)
	}
	return lines
}

// sessionPanel describes the run that enter opens.
func (m *Model) sessionPanel(t theme.Theme, width int) []string {
	text := "enter opens a new run, filled in with your choices. "
	switch {
	case m.next() != stepSession:
		text = "The steps above are not done yet. enter opens a new run anyway. "
	case m.model.scripted():
		text += "The built-in script cannot read a task. It plays a fixed example: the agent writes hello.txt, and you review it. "
	}
	lines := frame.Wrap(text+"Nothing changes in your repository until you accept it.", width)
	for i, line := range lines {
		lines[i] = t.Plain.Render(line)
	}
	return lines
}

// list returns the cursor of the list that is shown, or nil.
func (m *Model) list() *cursor.Cursor {
	switch {
	case m.at == stepAgent && !m.agent.watching:
		return &m.agent.cursor
	case m.at == stepModel && m.model.server == nil:
		return &m.model.cursor
	case m.at == stepModel && !m.model.typing:
		return &m.model.names.cursor
	}
	return nil
}
