package newrun

import "aibox/ui/widget/frame"

const (
	wideCols  = 118 // from this width the list of steps is beside the step
	sideCols  = 30
	shortRows = 15 // below this height the footer is short
)

// layout is the size of the screen and of its parts, in cells.
type layout struct{ width, height int }

// wide reports whether the list of steps is beside the step.
func (l layout) wide() bool { return l.width >= wideCols }

// footer is the number of rows of the command line, and of the whole footer.
func (l layout) footer() (command, rows int) {
	if l.height < shortRows {
		return 1, 2
	}
	return 2, 4 // with a rule
}

// top is the number of rows above the step.
func (l layout) top() int {
	if l.wide() {
		return frame.HeadRows
	}
	return frame.HeadRows + 1 // the steps in one line
}

// left is the number of columns before the step.
func (l layout) left() int {
	if l.wide() {
		return sideCols + frame.PaneGap
	}
	return 0
}

// body is the size of the step.
func (l layout) body() (width, height int) {
	_, footer := l.footer()
	return l.width - l.left(), max(1, l.height-l.top()-footer)
}
