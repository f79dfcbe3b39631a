// Package diff shows the diff of one changed file: it lays the hunks out in rows, unified
// or side by side, loads more lines around them, highlights them and keeps the cursor. It
// changes no decision, and escapes the agent's text.
//
// It is written by hand because no library does this for a terminal: diff pagers are
// programs that print a whole diff, and the viewport of bubbles wants all of its lines
// rendered. Here a diff of 300,000 lines costs memory by its number of changes, and only
// the rows on the screen are rendered.
package diff

import (
	"fmt"
	"regexp"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/theme"
)

// MinSplitWidth is the minimum width of a screen that shows old and new side by side.
// From wideWidth on it does so unless the user chose otherwise.
const (
	MinSplitWidth = 110
	wideWidth     = 160
)

// Pane shows the diff of the current file: a window of its rows with a cursor.
type Pane struct {
	Keys  *Keys
	Draft *decision.Draft
	Files []*File
	At    int // the current file
	clock int // counts visits to files

	Style       style // as the user chose it
	splitChosen bool  // the user chose between side by side and unified
	unwrapped   bool  // long lines are cut

	Row    int // the cursor
	Top    int // first row shown
	column int // columns that lines are shifted by

	screen, Height int // columns of the screen, rows of the window
	Focused        bool
	Theme          theme.Theme
	Styles         Styles
	syntax         highlighter
	facts          lineFacts
	Comments       comments
	Match          *regexp.Regexp // marked in the lines; nil for nothing
}

// File returns the current file, or nil.
func (v *Pane) File() *File {
	if v.At < 0 || v.At >= len(v.Files) {
		return nil
	}
	return v.Files[v.At]
}

// Current returns the row at the cursor. Without one it is a row before all hunks.
func (v *Pane) Current() Row {
	f := v.File()
	if f == nil || v.Row < 0 || v.Row >= f.Layout.Rows {
		return Row{Hunk: -1}
	}
	return f.Layout.row(v.Row)
}

// Hunk returns the index of the hunk at the cursor, or -1.
func (v *Pane) Hunk() int {
	if at := v.Current(); !at.Gap {
		return int(at.Hunk)
	}
	return -1
}

// Position returns the numbers of the current file and hunk: "file 2/34, hunk 1/3".
func (v *Pane) Position() string {
	f := v.File()
	if f == nil {
		return ""
	}
	text := fmt.Sprintf("file %d/%d", v.At+1, len(v.Files))
	if n := len(f.Hunks()); v.Hunk() >= 0 {
		text += fmt.Sprintf(", hunk %d/%d", v.Hunk()+1, n)
	} else if n > 0 {
		text += ", " + amount.Of(n, "hunk")
	}
	return text
}

// layoutStyle returns how diffs are laid out at this size.
func (v *Pane) layoutStyle() style {
	s := v.Style
	if !v.splitChosen {
		s.split = v.screen >= wideWidth
	}
	s.split = s.split && v.screen >= MinSplitWidth
	return s
}

// ListWidth returns the columns that are left to the list of files.
func (v *Pane) ListWidth() int {
	if v.layoutStyle().split {
		return max(18, min(36, v.screen/5))
	}
	return max(14, min(44, v.screen*3/10))
}

// width returns the columns of the diff.
func (v *Pane) width() int { return v.screen - v.ListWidth() - frame.PaneGap }

// Resize sets the size of the screen and the rows of the window.
func (v *Pane) Resize(screen, height int) {
	v.screen, v.Height = screen, height
	v.Arrange()
}

// Arrange lays out the current file where its rows are out of date, and scrolls to the
// cursor, which stays at its line.
func (v *Pane) Arrange() {
	f := v.File()
	if f == nil {
		return
	}
	f.Sync()
	s := v.layoutStyle()
	s.width = max(1, v.width()-barWidth)
	s.Blank = s.Blank && (f.Aligned != nil || f.Lines() <= AlignedAtOnce)
	if f.Layout.Rows == 0 || !f.Layout.fits(s) || f.Layout.comments != v.Comments.version {
		was, fresh := v.Current(), f.Layout.Rows == 0
		f.Layout = f.layOut(s, v.Comments)
		if !fresh {
			v.Row = f.Layout.Find(was)
		}
	}
	v.Scroll()
}

// arrangeInPlace is Arrange for rows that were added or removed. As far as possible, the other rows
// on the screen do not move.
func (v *Pane) arrangeInPlace() {
	l := &v.File().Layout
	if l.Rows == 0 {
		return // it is being read again
	}
	top := l.row(v.Top)
	if top.Kind == GapRow {
		top.Kind = LineRow // the lines it hid
	}
	v.Arrange()
	v.Top = l.Find(top)
	v.Scroll()
}

// refold lays the current file out again after a fold.
func (v *Pane) refold() {
	if f := v.File(); f != nil {
		f.Layout.comments = -1
	}
	v.Arrange()
}

// Show goes to a file, at its first hunk.
func (v *Pane) Show(i int) {
	v.At, v.Row, v.Top, v.column = i, 0, 0, 0
	v.clock++
	v.Files[i].visited = v.clock
	v.Arrange()
	v.ToHunk(0)
	v.Scroll()
}

// ToRow moves the cursor to a row.
func (v *Pane) ToRow(row int) {
	v.Row = row
	v.Scroll()
}

// ToHunk moves the cursor to the heading of a hunk.
func (v *Pane) ToHunk(hunk int) bool {
	f := v.File()
	if f == nil || hunk < 0 || hunk >= len(f.Layout.heads) {
		return false
	}
	v.Row = f.Layout.heads[hunk]
	return true
}

// NextHunk moves the cursor by n hunks within the file.
func (v *Pane) NextHunk(n int) bool {
	at := v.Current()
	if at.Gap && n < 0 {
		n++ // the hunk before the gap comes first
	}
	return v.ToHunk(int(at.Hunk) + n)
}

// toggleFold folds or unfolds the hunk at the cursor; in a gap it hides its lines.
func (v *Pane) toggleFold() {
	f, i := v.File(), v.Hunk()
	if i < 0 {
		v.Collapse()
		return
	}
	id := f.Hunks()[i].ID
	f.fold(id, !f.folded[id])
	v.ToHunk(i)
	v.refold()
}

// Collapse hides the lines shown of the gaps at the cursor, and reports whether there
// were any.
func (v *Pane) Collapse() bool {
	some := v.File().collapseAt(v.Current())
	if some {
		v.arrangeInPlace()
	}
	return some
}

// ShowUnchanged shows unchanged lines again.
func (v *Pane) ShowUnchanged() {
	v.Style.brief = false
	v.Arrange()
}

// Reveal moves the cursor to the row of a line, and unfolds its hunk when it is folded.
func (v *Pane) Reveal(line int, old bool) {
	f := v.File()
	at := f.Layout.rowOf(line, old)
	if at < 0 {
		for _, h := range f.Hunks() {
			if f.folded[h.ID] && contains(&h, line, old) {
				delete(f.folded, h.ID)
				f.Layout.comments = -1
			}
		}
		v.ShowUnchanged()
		at = f.Layout.rowOf(line, old)
	}
	if at >= 0 {
		v.Row = at
		v.showMatch(f.Layout.row(at), old)
	}
	v.Scroll()
}

// besideMatch is how many columns are shown after a match that cut lines are shifted to, so that no
// mark of hidden columns covers it.
const besideMatch = 8

// showMatch shifts lines that are cut until the first match in a row is shown.
func (v *Pane) showMatch(r Row, old bool) {
	if !v.unwrapped || v.Match == nil || r.Kind != LineRow && r.Kind != pairRow {
		return
	}
	p := v.painter()
	line, width := r.left, p.columns
	if r.Kind == pairRow {
		width = p.half()
		if !old {
			line = r.right
		}
	}
	if line < 0 {
		return
	}
	text := p.f.line(r, line).Text
	at := v.Match.FindIndex(text[:min(len(text), MaxShown)])
	if at == nil {
		return
	}
	shown := func(end int) int { return columns(Untab(termtext.Text(string(text[:end])))) }
	from, to, room := shown(at[0]), shown(at[1])+besideMatch, p.room(width)
	switch {
	case to <= room:
		v.column = 0
	case from < v.column || to > v.column+room:
		v.column = max(0, min(from, to-room, MaxColumn))
	}
}

// ShowExpanded shows lines that were added around the hunk at the cursor.
func (v *Pane) ShowExpanded() {
	v.arrangeInPlace()
	v.showAbove(ExpandStep + 1)
}

// showAbove scrolls so that up to n rows above a hunk's heading at the cursor are shown.
func (v *Pane) showAbove(n int) {
	if v.Current().Kind == HeadRow {
		v.Top = max(0, min(v.Top, v.Row-min(n, v.Height/2)))
	}
}

// contains reports whether a hunk contains a line.
func contains(h *review.Hunk, line int, old bool) bool {
	if old {
		return line >= h.OldStart && line < h.OldStart+h.OldLines
	}
	return line >= h.NewStart && line < h.NewStart+h.NewLines
}
