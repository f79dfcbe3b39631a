package conversation

import (
	"slices"

	"aibox/ui/widget/theme"
)

// window is the part of the timeline that is on the screen, and the selected item.
type window struct {
	list          *timeline
	theme         theme.Theme
	width, height int

	top      *item // the first item on the screen
	row      int   // the first row of it on the screen
	selected *item
	follow   bool // the last item stays selected as the conversation grows

	rows map[*item][]string // rendered, at most maxRendered
}

// maxRendered bounds the items whose rows are kept.
const maxRendered = 500

// index returns the position of an item; 0 if it is nil or gone. Items near the end are
// found fast.
func (w *window) index(it *item) int {
	for i := len(w.list.items) - 1; i >= 0; i-- {
		if w.list.items[i] == it {
			return i
		}
	}
	return 0
}

// nearest returns an item, or the first one that is not older if it is gone.
func (w *window) nearest(it *item) *item {
	items := w.list.items
	at := w.index(it)
	if it != nil && items[at] != it {
		at = max(0, slices.IndexFunc(items, func(other *item) bool { return !other.time.Before(it.time) }))
	}
	return items[at]
}

// forget drops all rendered rows.
func (w *window) forget() { w.rows = nil }

// forgetItem drops the rows of an item that has changed.
func (w *window) forgetItem(it *item) { delete(w.rows, it) }

// rowsOf returns the rows of an item: at least one.
func (w *window) rowsOf(it *item) []string {
	if rows, ok := w.rows[it]; ok {
		return rows
	}
	if w.rows == nil || len(w.rows) >= maxRendered {
		w.rows = map[*item][]string{}
	}
	r := renderer{theme: w.theme, width: max(20, w.width)}
	w.rows[it] = r.render(it)
	return w.rows[it]
}

// settle makes the window valid after a change of the timeline or the size.
func (w *window) settle() {
	items := w.list.items
	if len(items) == 0 {
		w.top, w.selected, w.row = nil, nil, 0
		return
	}
	if w.follow || w.selected == nil {
		w.selected = items[len(items)-1]
		w.showEnd()
		return
	}
	w.selected = w.nearest(w.selected)
	if top := w.nearest(w.top); top != w.top {
		w.top, w.row = top, 0
	}
	w.row = min(w.row, len(w.rowsOf(w.top))-1)
	w.fill()
}

// showEnd scrolls to the end.
func (w *window) showEnd() {
	room, i := w.height, len(w.list.items)-1
	for ; i >= 0; i-- {
		n := len(w.rowsOf(w.list.items[i]))
		if n >= room {
			w.top, w.row = w.list.items[i], n-room
			return
		}
		room -= n
	}
	w.top, w.row = w.list.items[0], 0
}

// fill scrolls back if rows below the last item would stay empty.
func (w *window) fill() {
	room := w.height + w.row
	for i := w.index(w.top); i < len(w.list.items); i++ {
		if room -= len(w.rowsOf(w.list.items[i])); room <= 0 {
			return
		}
	}
	w.showEnd()
}

// scroll moves the screen down by n rows, or up if n is negative.
func (w *window) scroll(n int) {
	if w.top == nil {
		return
	}
	i := w.index(w.top)
	w.row += n
	for w.row < 0 && i > 0 {
		i--
		w.row += len(w.rowsOf(w.list.items[i]))
	}
	for w.row >= len(w.rowsOf(w.list.items[i])) && i < len(w.list.items)-1 {
		w.row -= len(w.rowsOf(w.list.items[i]))
		i++
	}
	w.top, w.row = w.list.items[i], max(0, w.row)
	w.row = min(w.row, len(w.rowsOf(w.top))-1)
	w.fill()
}

// page scrolls by n rows and selects an item on the screen.
func (w *window) page(n int) {
	if w.top == nil {
		return
	}
	w.follow = false
	w.scroll(n)
	first, last := w.shown()
	switch at := w.index(w.selected); {
	case at < first:
		w.selected = w.list.items[first]
	case at > last:
		w.selected = w.list.items[last]
	}
	w.catchUp(n)
}

// catchUp follows the end again after moving down to the last item and row.
func (w *window) catchUp(n int) {
	if n <= 0 || len(w.list.items) == 0 {
		return
	}
	top, row := w.top, w.row
	w.showEnd()
	if w.top == top && w.row == row {
		w.selected, w.follow = w.list.items[len(w.list.items)-1], true
		return
	}
	w.top, w.row = top, row
}

// shown returns the positions of the first and the last item whose first row is on the
// screen, or of the only one that is.
func (w *window) shown() (first, last int) {
	first = w.index(w.top)
	room := w.height - (len(w.rowsOf(w.top)) - w.row)
	last = first
	for last+1 < len(w.list.items) && room > 0 {
		last++
		room -= len(w.rowsOf(w.list.items[last]))
	}
	if w.row > 0 && last > first {
		first++
	}
	return first, last
}

// move selects the next item, or the previous one. In an item that is taller than the
// screen it scrolls row by row.
func (w *window) move(down bool) {
	if w.selected == nil {
		return
	}
	at, step := w.index(w.selected), 1
	if !down {
		step = -1
	}
	if w.reachesBeyond(at, down) {
		w.follow = false
		w.scroll(step)
		return
	}
	next := at + step
	if next < 0 || next >= len(w.list.items) {
		return
	}
	w.selectAt(next)
	w.follow = next == len(w.list.items)-1
}

// reachesBeyond reports whether rows of an item are below the screen, or above it.
func (w *window) reachesBeyond(at int, down bool) bool {
	before := -w.row // rows from the top of the screen to the item
	for i := w.index(w.top); i < at; i++ {
		if before += len(w.rowsOf(w.list.items[i])); before > w.height {
			return false
		}
	}
	if at < w.index(w.top) {
		return false
	}
	if down {
		return before+len(w.rowsOf(w.list.items[at])) > w.height && before < w.height
	}
	return before < 0
}

// selectAt selects an item and scrolls to it.
func (w *window) selectAt(at int) {
	w.selected = w.list.items[at]
	top := w.index(w.top)
	if at < top || at == top && w.row > 0 {
		w.top, w.row = w.selected, 0
		return
	}
	need := -w.row
	for i := top; i <= at; i++ {
		need += len(w.rowsOf(w.list.items[i]))
		if need > 3*w.height && i < at { // far away
			w.top, w.row = w.selected, 0
			w.scroll(-w.height / 2)
			return
		}
	}
	if over := need - w.height; over > 0 {
		w.scroll(min(over, need-len(w.rowsOf(w.selected))))
	}
}

// first selects the first item.
func (w *window) first() {
	if len(w.list.items) > 0 {
		w.selected, w.top, w.row, w.follow = w.list.items[0], w.list.items[0], 0, false
	}
}

// last selects the last item and follows the end.
func (w *window) last() {
	w.follow = true
	w.settle()
}

// at returns the item on a row of the screen; nil for none.
func (w *window) at(y int) *item {
	if w.top == nil {
		return nil
	}
	y += w.row
	for i := w.index(w.top); i < len(w.list.items); i++ {
		n := len(w.rowsOf(w.list.items[i]))
		if y < n {
			return w.list.items[i]
		}
		y -= n
	}
	return nil
}

// toggle folds or unfolds an item, and keeps its first row on the screen.
func (w *window) toggle(it *item) {
	if it == nil || !it.foldable() {
		return
	}
	if it.open() && it.fold != byDefault || it.fold == byDefault && it.open() && !it.cut() {
		it.fold = folded
	} else {
		it.fold = unfolded
	}
	w.forgetItem(it)
	w.selected, w.follow = it, false
	if w.top == it {
		w.row = 0
	}
	w.settle()
	w.selectAt(w.index(it))
}

// toggleAll unfolds all items, or folds all if the selected one is unfolded.
func (w *window) toggleAll() {
	state := unfolded
	if w.list.all == unfolded {
		state = folded
	}
	w.list.setAll(state)
	w.forget()
	w.settle()
	if w.selected != nil && !w.follow {
		w.selectAt(w.index(w.selected))
	}
}
