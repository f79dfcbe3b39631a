// Package welcome shows the steps to a first run to a user without sessions: their
// state, and a key for the next one. It is a part of the dashboard, and checks nothing
// once a session exists.
package welcome

import (
	"context"
	"strings"

	"aibox/app/doctor"
	"aibox/internal/termtext"
	"aibox/ui/checkup"
	"aibox/ui/page"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Model holds the steps. Make one with New.
type Model struct {
	machine checkup.Machine
	checkup *checkup.Checkup
	begun   bool
}

// New makes a model that has not checked anything yet. Without a machine (nil) it only
// shows how to start a run.
func New(machine checkup.Machine) *Model {
	return &Model{machine: machine, checkup: checkup.New(machine)}
}

// Begin checks the machine unless that was done before.
func (m *Model) Begin(ctx context.Context) tea.Cmd {
	if m.begun {
		return nil
	}
	return m.Again(ctx)
}

// Again checks the machine again.
func (m *Model) Again(ctx context.Context) tea.Cmd {
	if m.machine == nil {
		return nil
	}
	m.begun = true
	return m.checkup.Begin(ctx)
}

// Take handles a message and reports whether it was one of its own.
func (m *Model) Take(msg tea.Msg) (tea.Cmd, bool) { return m.checkup.Take(msg) }

// step is a step to a first run.
type step struct {
	doctor.Step
	name string
	does string // describes what enter does
	ask  page.Request
}

// steps returns the steps to a first run; the run itself is the last.
func (m *Model) steps() []step {
	path := doctor.FirstRun(m.checkup.Findings(), m.checkup.Looking)
	all := make([]step, 0, len(path)+1)
	ready := true
	for _, of := range path {
		s := step{Step: of}
		switch of.Part {
		case doctor.Docker:
			s.name, s.does, s.ask = "Docker", "shows what is missing", page.Doctor{}
			if args, own := (doctor.Finding{Fix: of.Fix}).Command(); own {
				s.does, s.ask = "runs "+of.Fix+", which asks before it changes anything", page.Command{Args: args, Wait: true}
			}
		case doctor.Images:
			s.name, s.does, s.ask = "an image", "shows the images; b bakes one", page.Images{}
		case doctor.Model:
			s.name, s.does, s.ask = "a model", "shows how to fix it", page.Doctor{}
		}
		ready = ready && of.State == doctor.OK
		all = append(all, s)
	}
	first := step{name: "a first run", does: "asks what to run", ask: page.NewRun{}, Step: doctor.Step{Detail: "an agent, a repository and a task"}}
	if ready {
		first.State = doctor.Warning // only this step is left
	}
	return append(all, first)
}

// next returns the index of the first step that is not done, or of the last step.
func next(steps []step) int {
	for i, s := range steps {
		if s.State != doctor.OK {
			return i
		}
	}
	return len(steps) - 1
}

var (
	enter = keymap.Bind("do the next step", "enter")
	again = keymap.Bind("check again", "r")
)

// Keys returns the keys that are active while there is no session.
func (m *Model) Keys() []key.Binding {
	if m.machine == nil {
		return nil
	}
	return []key.Binding{enter, again}
}

// Press handles a key and reports whether it was one of its own.
func (m *Model) Press(ctx context.Context, msg tea.KeyPressMsg) (tea.Cmd, bool) {
	switch {
	case m.machine == nil:
		return nil, false
	case key.Matches(msg, enter):
		steps := m.steps()
		return m.do(steps[next(steps)]), true
	case key.Matches(msg, again):
		return m.Again(ctx), true
	default:
		return nil, false
	}
}

// do opens what a step needs. A step whose check is running does nothing.
func (m *Model) do(s step) tea.Cmd {
	if s.State == "" && s.Detail == "" {
		return nil
	}
	return page.Ask(s.ask)
}

// headRows are the lines of View before the first step.
const headRows = 3

// Click handles a click on a row of View. A click on a step does the step.
func (m *Model) Click(row int) tea.Cmd {
	if steps := m.steps(); m.machine != nil && row >= headRows && row < headRows+len(steps) {
		return m.do(steps[row-headRows])
	}
	return nil
}

// View returns the steps in lines of at most width columns.
func (m *Model) View(t theme.Theme, width int) []string {
	if m.machine == nil {
		return []string{"", "  No sessions yet. " + t.Key.Render("n") + " starts one."}
	}
	steps := m.steps()
	at := next(steps)
	title := "  " + t.Title.Render("No sessions yet.") + " Steps to your first run:"
	out := []string{"", ansi.Truncate(title, width, "…"), ""}
	for i, s := range steps {
		mark, style := stepMark(t, s, i == len(steps)-1)
		detail := s.Detail
		if s.State == "" && detail == "" {
			detail = "checking…"
		}
		name := s.name + strings.Repeat(" ", max(0, 13-len(s.name)))
		if i == at {
			name = t.Title.Render(name)
		}
		line := "  " + t.Faint.Render(string(rune('1'+i))) + " " + style.Render(mark) + " " + name + termtext.Escape(detail)
		out = append(out, ansi.Truncate(line, width, "…"))
	}
	out = append(out, "")
	if s := steps[at]; s.State != "" {
		text := "enter " + s.does + "."
		if _, own := s.ask.(page.Command); !own && s.Fix != "" {
			text = "To fix it: " + s.Fix + ". " + text
		}
		for line := range strings.SplitSeq(ansi.Wrap(termtext.Escape(text), max(1, width-4), ""), "\n") {
			out = append(out, "  "+t.Key.Render(line))
		}
	}
	return out
}

// stepMark returns the mark of a step. It shows the state without color.
func stepMark(t theme.Theme, s step, last bool) (string, lipgloss.Style) {
	switch {
	case s.State == doctor.OK:
		return "✓", t.Good
	case last && s.State == doctor.Warning:
		return "▸", t.Live
	case s.State == doctor.Warning:
		return "!", t.Warn
	case s.State == doctor.Missing:
		return "✗", t.Bad
	case s.Detail != "": // it waits for another one
		return "·", t.Faint
	default:
		return "…", t.Faint
	}
}
