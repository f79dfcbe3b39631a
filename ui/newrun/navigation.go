package newrun

import (
	"strings"

	"aibox/ui/widget/cursor"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// navigation is the list of steps: a line above the step, or a column beside it.
type navigation struct {
	layout
	theme    theme.Theme
	steps    [stepCount]step
	at       stepID
	selected bool // the list has the keyboard
}

func (m *Model) navigation() navigation {
	return navigation{m.layout, m.theme, m.steps, m.at, !m.inside}
}

// name is the name of a step.
func (n navigation) name(id stepID) string {
	if named, ok := n.steps[id].(interface{ name() string }); ok {
		return named.name()
	}
	return stepNames[id]
}

// mark shows whether a step is complete.
func (n navigation) mark(id stepID) string {
	if _, complete := n.steps[id].status(); complete {
		return n.theme.Good.Render("✓")
	}
	return n.theme.Warn.Render("·")
}

// tab is a step's place in the line of steps.
type tab struct {
	step     stepID
	from, to int // columns
	text     string
}

// tabs are the steps in one line.
func (n navigation) tabs() []tab {
	marksOnly, gap := n.short()
	var tabs []tab
	x := 0
	for id := range stepCount {
		name := n.name(id)
		text := n.mark(id) + " " + name
		switch {
		case id == n.at:
			text = n.mark(id) + " " + n.highlight(cursor.Mark+name)
		case marksOnly:
			text = n.mark(id)
		}
		size := ansi.StringWidth(text)
		tabs = append(tabs, tab{id, x, x + size, text})
		x += size + gap
	}
	return tabs
}

// highlight is the name of the current step.
func (n navigation) highlight(name string) string {
	if n.selected {
		return n.theme.Selected.Render(name)
	}
	return n.theme.Live.Render(name)
}

// short reports whether only the current step has its name, and the number of spaces between
// the steps.
func (n navigation) short() (marksOnly bool, gap int) {
	switch {
	case n.width >= 64:
		return false, 2
	case n.width >= 58:
		return false, 1
	default:
		return true, 2
	}
}

// line is the steps in one line.
func (n navigation) line() string {
	var parts []string
	for _, t := range n.tabs() {
		parts = append(parts, t.text)
	}
	_, gap := n.short()
	return ansi.Truncate(strings.Join(parts, strings.Repeat(" ", gap)), n.width, "…")
}

// column is the steps below each other, each with its choice.
func (n navigation) column() []string {
	var out []string
	for id := range stepCount {
		name := "  " + n.name(id)
		if id == n.at {
			name = n.highlight(cursor.Mark + " " + n.name(id))
		}
		text, _ := n.steps[id].status()
		out = append(out, n.mark(id)+" "+name, n.theme.Faint.Render(ansi.Truncate("    "+text, sideCols, "…")))
	}
	return out
}

// stepAt is the step at a cell of the screen.
func (n navigation) stepAt(x, y int) (id stepID, ok bool) {
	if n.wide() {
		row := y - n.top()
		return stepID(row / 2), x < sideCols && row >= 0 && row < 2*int(stepCount)
	}
	for _, t := range n.tabs() {
		if y == frame.HeadRows && x >= t.from && x < t.to {
			return t.step, true
		}
	}
	return 0, false
}

// pressNavigation handles a key while the list of steps has the keyboard.
func (m *Model) pressNavigation(msg tea.KeyPressMsg) tea.Cmd {
	switch msg.String() {
	case "up", "k", "left", "h", "shift+tab":
		m.at = max(stepRepository, m.at-1)
	case "down", "j", "tab":
		m.at = min(stepStart, m.at+1)
	case "enter", "right", "l":
		return m.enter(m.at)
	case "home", "g":
		m.at = stepRepository
	case "end", "G":
		m.at = stepStart
	case "c":
		return m.copyCommand()
	case "esc", "q":
		return m.leave()
	}
	m.fit()
	return nil
}
