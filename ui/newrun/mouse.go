package newrun

import (
	"strings"

	"aibox/ui/widget/frame"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// click goes to the step, or takes the line, under the mouse. A second click on the
// same line takes it.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if msg.Button != tea.MouseLeft || m.ask != nil || m.begin != nil && (m.begin.running || m.begin.id != "") {
		return nil
	}
	x, y := msg.X, msg.Y-m.top()
	switch {
	case m.wide() && x < sideCols && y >= 0 && y < 2*int(steps):
		return m.enter(step(y / 2))
	case !m.wide() && msg.Y == frame.HeadRows:
		for _, t := range m.places() {
			if x >= t.from && x < t.to {
				return m.enter(t.step)
			}
		}
		return nil
	}
	_, height := m.body()
	if m.wide() {
		x -= sideCols + frame.PaneGap
	}
	if x < 0 || y < 0 || y >= height {
		return nil
	}
	return m.clickStep(x, y)
}

func (m *Model) clickStep(x, y int) tea.Cmd {
	switch m.step {
	case where:
		p := &m.where.repository
		if m.where.second {
			p = &m.where.branch
		}
		if m.clickList(p, y-2) {
			return m.pickWhere()
		}
	case agent:
		if m.clickList(&m.agent, y-1) {
			return m.pickAgent()
		}
	case task:
		m.clickTask(y)
	case begin:
		width, height := m.body()
		if lines := m.beginView(width, height); y < len(lines) && x < 9 && strings.HasPrefix(ansi.Strip(lines[y]), "[ start ]") {
			return m.start(false)
		}
	}
	m.inside = true
	return nil
}

// clickList goes to a row of a list, and reports whether it was there already.
func (m *Model) clickList(p *picker, row int) bool {
	before := p.cursor.At()
	m.inside = true
	return p.cursor.Click(row) && p.cursor.At() == before
}

func (m *Model) clickTask(y int) {
	s := &m.task
	_, height := m.body()
	switch {
	case s.opened:
		before := s.shelf.At()
		if all := m.library(); s.shelf.Click(y-1) && s.shelf.At() == before && before < len(all) {
			m.toggle(all[before])
		}
	case len(s.named) > 0:
		if s.at.Click(y - (height - m.belowTask())) {
			s.take(s.named[s.at.At()])
		}
	}
}

// wheel moves in the list that is shown.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	switch {
	case m.ask != nil:
	case m.step == where && m.where.second:
		m.where.branch.cursor.Wheel(msg)
	case m.step == where:
		m.where.repository.cursor.Wheel(msg)
	case m.step == agent:
		m.agent.cursor.Wheel(msg)
	case m.step == task && m.task.opened:
		m.task.shelf.Wheel(msg)
	case m.step == task && len(m.task.named) > 0:
		m.task.at.Wheel(msg)
	}
}
