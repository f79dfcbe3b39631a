package changes

import (
	"slices"

	"aibox/review"

	tea "charm.land/bubbletea/v2"
)

const (
	step        = 10       // lines that a key shows of a gap
	maxUnfolded = 32 << 20 // bytes that are shown of the gaps of all files
)

// unfolded brings lines of gaps.
type unfolded struct {
	sent
	file  int
	asked []stretch
	lines [][]review.Line
	err   error
}

// stretch is lines of a gap that are to be shown, at its beginning or at its end.
type stretch struct {
	gap int // how many old lines stand before it
	up  bool
	review.Span
}

// unfold reads more lines of the gap a person is at, or of those around the hunk: a
// few, or all there are.
func (m *Model) unfold(all bool) tea.Cmd {
	f := m.file()
	if m.unfolding {
		return nil
	}
	m.unbrief()
	asked := m.hiddenHere(all)
	if len(asked) == 0 {
		if !all || !m.foldGaps() {
			m.note.Say("no line is hidden here", nil)
		}
		return nil
	}
	room := maxUnfolded - f.unfolded
	for _, other := range m.files {
		if other != f && other.unfolded > 0 {
			other.forgetGaps()
		}
	}
	if room <= 0 {
		m.note.Say("no more of this file can be shown", nil)
		return nil
	}
	m.unfolding = true
	ctx, set, path, msg := m.ctx, m.set, f.change.Path, unfolded{sent: sent{m}, file: m.at, asked: asked}
	return func() tea.Msg {
		var spans []review.Span
		for _, s := range msg.asked {
			spans = append(spans, s.Span)
		}
		msg.lines, _, msg.err = set.OldLines(ctx, path, room, spans...)
		return msg
	}
}

// unbrief shows unchanged lines.
func (m *Model) unbrief() {
	m.style.brief = false
	m.arrangeRows()
	m.scroll()
}

// near are the gaps that keys are about: the one a person is at, or those around the
// hunk.
func (m *Model) near() []gap {
	here := m.here()
	return slices.DeleteFunc(m.file().gaps(), func(g gap) bool {
		return int32(g.after) != here.hunk && (here.gap || int32(g.after) != here.hunk-1)
	})
}

// hiddenHere is what a key would show, in order: at a gap of both its ends, at a hunk
// what is next to it. What is before the first hunk is shown from its end on, and what
// is behind the last one from its beginning.
func (m *Model) hiddenHere(all bool) []stretch {
	f := m.file()
	here := m.here()
	var asked []stretch
	for _, g := range m.near() {
		first, last := g.old == 0, g.old+g.n == f.total
		down := !first && (here.gap || int32(g.after) == here.hunk)
		up := first || !last && (here.gap || int32(g.after) < here.hunk)
		from, to := g.old+len(g.head), g.old+g.n-len(g.tail)
		n := step
		if to-from == step+1 {
			n++ // the last one takes no more room than to say that it is hidden
		}
		if all {
			down, up, n = true, false, to-from
		}
		if down && from < to {
			end := min(from+n, to)
			asked = append(asked, stretch{g.old, false, review.Span{From: from, To: end}})
			from = end
		}
		if up && from < to {
			asked = append(asked, stretch{g.old, true, review.Span{From: max(to-n, from), To: to}})
		}
	}
	return asked
}

// showMore takes lines of gaps. What is not next to what is shown of them by now is late.
func (m *Model) showMore(msg unfolded) {
	m.unfolding = false
	if msg.err != nil {
		m.note.Say("", msg.err)
		return
	}
	f := m.files[msg.file]
	for i, s := range msg.asked {
		f.extend(s, msg.lines[i])
		if len(msg.lines[i]) < s.To-s.From {
			m.note.Say("no more of this file can be shown", nil)
		}
	}
	if msg.file != m.at {
		return
	}
	m.relay()
	if m.here().kind == headRow { // show what came above it
		m.rowTop = max(0, min(m.rowTop, m.row-min(step+1, m.bodyHeight()/2)))
	}
}

// extend adds lines to what is shown of a gap.
func (f *file) extend(s stretch, lines []review.Line) {
	gaps := f.gaps()
	i := slices.IndexFunc(gaps, func(g gap) bool { return g.old == s.gap })
	if i < 0 {
		return
	}
	g := gaps[i]
	from, to := g.old+len(g.head), g.old+g.n-len(g.tail)
	switch {
	case !s.up && s.From == from && s.To <= to && len(g.head) == 0:
		g.head = lines // which may be many
	case !s.up && s.From == from && s.To <= to:
		g.head = slices.Concat(g.head, lines)
	case s.up && s.To == to && s.From >= from && len(lines) == s.To-s.From:
		g.tail = slices.Concat(lines, g.tail)
	default:
		return
	}
	if f.shown == nil {
		f.shown = map[int]shown{}
	}
	f.shown[g.old] = g.shown
	f.unfolded += weight(lines)
	f.spread()
}

// spread says that there are other lines around the hunks than there were.
func (f *file) spread() {
	f.version++
	f.layout.made = -1
}

// weight is about how many bytes lines take.
func weight(lines []review.Line) int {
	n := 0
	for i := range lines {
		n += 48 + len(lines[i].Text)
	}
	return n
}

// foldGaps hides what is shown of the gaps here, and reports whether there was any.
func (m *Model) foldGaps() bool {
	f := m.file()
	some := false
	for _, g := range m.near() {
		if _, ok := f.shown[g.old]; ok {
			delete(f.shown, g.old)
			f.unfolded -= weight(g.head) + weight(g.tail)
			some = true
		}
	}
	if some {
		f.spread()
		m.relay()
	}
	return some
}

// forgetGaps hides all that is shown of the gaps.
func (f *file) forgetGaps() { f.shown, f.unfolded, f.layout = nil, 0, layout{} }

// relay makes the rows of the file anew after lines came between them or went. What is
// on the screen stays there as far as it can.
func (m *Model) relay() {
	l := &m.file().layout
	if l.n == 0 {
		return // it is being read again
	}
	top := l.row(m.rowTop)
	if top.kind == gapRow {
		top.kind = lineRow // what was hidden behind it
	}
	m.arrangeRows()
	m.rowTop = l.find(top)
	m.scroll()
}
