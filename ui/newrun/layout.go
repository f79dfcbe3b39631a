package newrun

import "aibox/ui/widget/frame"

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
