package changes

import (
	"regexp"

	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"
)

// minSplitWidth is the least columns of a screen that shows old and new side by side;
// from wideWidth on it does so unless the user chose otherwise.
const (
	minSplitWidth = 110
	wideWidth     = 160
)

// diffView shows the diff of the current file: a window of its rows with a cursor.
type diffView struct {
	keys  *diffKeys
	draft *decision.Draft
	files []*file
	at    int // the current file
	clock int // counts visits to files

	style       style // as the user chose it
	splitChosen bool  // the user chose between side by side and unified

	row    int // the cursor
	top    int // first row shown
	column int // columns that lines are shifted by

	screen, height int // columns of the screen, rows of the window
	focused        bool
	theme          theme.Theme
	styles         lineStyles
	syntax         highlighter
	comments       comments
	match          *regexp.Regexp // marked in the lines; nil for nothing
}

// file returns the current file, or nil.
func (v *diffView) file() *file {
	if v.at < 0 || v.at >= len(v.files) {
		return nil
	}
	return v.files[v.at]
}

// current returns the row at the cursor. Without one it is a row before all hunks.
func (v *diffView) current() row {
	f := v.file()
	if f == nil || v.row < 0 || v.row >= f.layout.n {
		return row{hunk: -1}
	}
	return f.layout.row(v.row)
}

// hunk returns the index of the hunk at the cursor, or -1.
func (v *diffView) hunk() int {
	if at := v.current(); !at.gap {
		return int(at.hunk)
	}
	return -1
}

// layoutStyle returns how diffs are laid out at this size.
func (v *diffView) layoutStyle() style {
	s := v.style
	if !v.splitChosen {
		s.split = v.screen >= wideWidth
	}
	s.split = s.split && v.screen >= minSplitWidth
	return s
}

// listWidth returns the columns that are left to the list of files.
func (v *diffView) listWidth() int {
	if v.layoutStyle().split {
		return max(18, min(36, v.screen/5))
	}
	return max(14, min(44, v.screen*3/10))
}

// width returns the columns of the diff.
func (v *diffView) width() int { return v.screen - v.listWidth() - frame.PaneGap }

// resize sets the size of the screen and the rows of the window.
func (v *diffView) resize(screen, height int) {
	v.screen, v.height = screen, height
	v.arrange()
}

// arrange lays out the current file where its rows are out of date, and scrolls to the
// cursor, which stays at its line.
func (v *diffView) arrange() {
	f := v.file()
	if f == nil {
		return
	}
	f.sync()
	s := v.layoutStyle()
	s.width = max(1, v.width()-barWidth)
	s.blank = s.blank && (f.aligned != nil || f.lines() <= alignedAtOnce)
	if f.layout.n == 0 || !f.layout.fits(s) || f.layout.comments != v.comments.version {
		was, fresh := v.current(), f.layout.n == 0
		f.layout = f.layOut(s, v.comments)
		if !fresh {
			v.row = f.layout.find(was)
		}
	}
	v.scroll()
}

// arrangeInPlace is arrange after lines came or went between the rows: as far as
// possible the rows on the screen stay where they are.
func (v *diffView) arrangeInPlace() {
	l := &v.file().layout
	if l.n == 0 {
		return // it is being read again
	}
	top := l.row(v.top)
	if top.kind == gapRow {
		top.kind = lineRow // the lines it hid
	}
	v.arrange()
	v.top = l.find(top)
	v.scroll()
}

// refold lays the current file out again after a fold.
func (v *diffView) refold() {
	if f := v.file(); f != nil {
		f.layout.comments = -1
	}
	v.arrange()
}

// scroll keeps the cursor in the window.
func (v *diffView) scroll() {
	f := v.file()
	if f == nil {
		return
	}
	l := &f.layout
	v.row = max(0, min(v.row, l.n-1))
	v.top = max(min(v.top, v.row), v.row-v.height+1, 0)
	if v.row < l.n && l.row(v.row).kind == headRow { // show the hunk's first lines
		v.top = max(v.top, min(v.row, l.endOf(v.row, v.height)-v.height))
	}
	v.top = max(0, min(v.top, l.n-v.height))
}

// show goes to a file, at its first hunk.
func (v *diffView) show(i int) {
	v.at, v.row, v.top, v.column = i, 0, 0, 0
	v.clock++
	v.files[i].visited = v.clock
	v.arrange()
	v.toHunk(0)
	v.scroll()
}

// toRow moves the cursor to a row.
func (v *diffView) toRow(row int) {
	v.row = row
	v.scroll()
}

// toHunk moves the cursor to the heading of a hunk.
func (v *diffView) toHunk(hunk int) bool {
	f := v.file()
	if f == nil || hunk < 0 || hunk >= len(f.layout.heads) {
		return false
	}
	v.row = f.layout.heads[hunk]
	return true
}

// nextHunk moves the cursor by n hunks within the file.
func (v *diffView) nextHunk(n int) bool {
	at := v.current()
	if at.gap && n < 0 {
		n++ // the hunk before the gap comes first
	}
	return v.toHunk(int(at.hunk) + n)
}

// toggleFold folds or unfolds the hunk at the cursor; in a gap it hides its lines.
func (v *diffView) toggleFold() {
	f, i := v.file(), v.hunk()
	if i < 0 {
		v.collapse()
		return
	}
	id := f.Hunks()[i].ID
	f.fold(id, !f.folded[id])
	v.toHunk(i)
	v.refold()
}

// collapse hides the lines shown of the gaps at the cursor, and reports whether there
// were any.
func (v *diffView) collapse() bool {
	some := v.file().collapseAt(v.current())
	if some {
		v.arrangeInPlace()
	}
	return some
}

// showUnchanged shows unchanged lines again.
func (v *diffView) showUnchanged() {
	v.style.brief = false
	v.arrange()
}

// reveal moves the cursor to the row of a line, and unfolds its hunk when it is folded.
func (v *diffView) reveal(line int, old bool) {
	f := v.file()
	at := f.layout.rowOf(line, old)
	if at < 0 {
		for _, h := range f.Hunks() {
			if f.folded[h.ID] && contains(&h, line, old) {
				delete(f.folded, h.ID)
				f.layout.comments = -1
			}
		}
		v.showUnchanged()
		at = f.layout.rowOf(line, old)
	}
	if at >= 0 {
		v.row = at
	}
	v.scroll()
}

// showExpanded shows lines that were added around the hunk at the cursor.
func (v *diffView) showExpanded() {
	v.arrangeInPlace()
	v.showAbove(expandStep + 1)
}

// showAbove scrolls so that up to n rows above a hunk's heading at the cursor are shown.
func (v *diffView) showAbove(n int) {
	if v.current().kind == headRow {
		v.top = max(0, min(v.top, v.row-min(n, v.height/2)))
	}
}

// contains reports whether a line is one of the hunk's.
func contains(h *review.Hunk, line int, old bool) bool {
	if old {
		return line >= h.OldStart && line < h.OldStart+h.OldLines
	}
	return line >= h.NewStart && line < h.NewStart+h.NewLines
}
