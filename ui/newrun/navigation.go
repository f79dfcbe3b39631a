package newrun

import (
	"strings"

	"aibox/ui/widget/cursor"

	"github.com/charmbracelet/x/ansi"
)

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
