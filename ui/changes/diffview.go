package changes

import (
	"slices"

	"aibox/review"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// splitWidth is the least columns of a screen with old and new side by side, and
// wideWidth those of one that has them so unless the person says otherwise.
const (
	splitWidth = 110
	wideWidth  = 160
)

// longDeletion is how many lines of a deleted file are shown without being asked for.
const longDeletion = 200

// foldLong folds what a person need not read line by line: a long file that goes.
func (f *file) foldLong() {
	for i := range f.hunks {
		if h := &f.hunks[i]; h.Kind == review.HunkDeleted && len(h.Lines) > longDeletion && f.folded == nil {
			f.folded = map[review.HunkID]bool{h.ID: true}
		}
	}
}

// styled is how diffs are laid out at this size.
func (m *Model) styled() style {
	s := m.style
	if !m.fixed {
		s.split = m.width >= wideWidth
	}
	s.split = s.split && m.width >= splitWidth
	return s
}

// arrangeRows makes the rows of the file a person is at, where they are not as they
// should be; the person stays at the same line.
func (m *Model) arrangeRows() {
	f := m.file()
	if f == nil {
		return
	}
	s := m.styled()
	s.width = max(1, m.diffWidth()-barWidth)
	s.blank = s.blank && (f.aligned != nil || f.lines() <= alignedAtOnce)
	if f.layout.n > 0 && f.layout.is(s) && f.layout.made == m.remarks.version {
		return
	}
	var here row
	fresh := f.layout.n == 0
	if m.row < f.layout.n {
		here = f.layout.row(m.row)
	}
	f.layout = f.lay(s, m.remarks)
	if !fresh {
		m.row = f.layout.find(here)
	}
}

// refresh makes the rows of the file a person is at anew.
func (m *Model) refresh() {
	if f := m.file(); f != nil {
		f.layout.made = -1
	}
	m.arrangeRows()
	m.scroll()
}

// scroll keeps the line a person is at on the screen.
func (m *Model) scroll() {
	f := m.file()
	if f == nil {
		return
	}
	l := &f.layout
	m.row = max(0, min(m.row, l.n-1))
	height := m.bodyHeight()
	m.rowTop = max(min(m.rowTop, m.row), m.row-height+1, 0)
	if m.row < l.n && l.row(m.row).kind == headRow { // show what a hunk begins with
		m.rowTop = max(m.rowTop, min(m.row, l.endOf(m.row, height)-height))
	}
	m.rowTop = max(0, min(m.rowTop, l.n-height))
}

// move goes through the lines of the file.
func (m *Model) move(msg tea.KeyPressMsg) bool {
	k, page := m.keys, max(1, m.bodyHeight()-2)
	switch {
	case key.Matches(msg, k.up):
		m.row--
	case key.Matches(msg, k.down):
		m.row++
	case key.Matches(msg, k.pageUp):
		m.row -= page
	case key.Matches(msg, k.pageDown):
		m.row += page
	case key.Matches(msg, k.first):
		m.row = 0
	case key.Matches(msg, k.last):
		m.row = m.file().layout.n - 1
	case key.Matches(msg, k.left):
		m.column = max(0, m.column-8)
	case key.Matches(msg, k.right):
		m.column = min(m.column+8, maxColumn)
	default:
		return false
	}
	m.scroll()
	return true
}

// jump goes to another hunk or file.
func (m *Model) jump(msg tea.KeyPressMsg) bool {
	k := m.keys
	switch {
	case key.Matches(msg, k.nextHunk):
		if !m.toHunk(1) && m.at+1 < len(m.files) {
			m.goTo(m.at + 1)
		}
	case key.Matches(msg, k.lastHunk):
		if !m.toHunk(-1) && m.at > 0 {
			m.goTo(m.at - 1)
		}
	case key.Matches(msg, k.nextFile):
		m.goTo((m.at + 1) % len(m.files))
	case key.Matches(msg, k.lastFile):
		m.goTo((m.at + len(m.files) - 1) % len(m.files))
	case key.Matches(msg, k.nextOpen):
		m.toOpen()
	default:
		return false
	}
	m.scroll()
	return true
}

// toHunk goes to the head of the hunk that is n further.
func (m *Model) toHunk(n int) bool {
	here := m.here()
	if here.gap && n < 0 {
		n++ // the one it is behind comes first
	}
	return m.toHead(int(here.hunk) + n)
}

// toHead goes to the head of a hunk.
func (m *Model) toHead(hunk int) bool {
	f := m.file()
	if f == nil || hunk < 0 || hunk >= len(f.layout.heads) {
		return false
	}
	m.row = f.layout.heads[hunk]
	return true
}

// toOpen goes to the next file with something that is not decided.
func (m *Model) toOpen() {
	for n := 1; n <= len(m.files); n++ {
		i := (m.at + n) % len(m.files)
		if d, mixed := m.files[i].sum(); mixed && m.files[i].anyOpen() || !mixed && d == open && !m.files[i].isDone(m.target) {
			m.goTo(i)
			return
		}
	}
	m.note.Say("everything is decided; enter accepts it", nil)
}

// anyOpen reports whether a hunk is not decided.
func (f *file) anyOpen() bool {
	return f.count[open] > 0 || f.whole == open && len(f.own) < len(f.hunks)
}

// goTo shows a file, at its first hunk.
func (m *Model) goTo(i int) {
	m.at, m.row, m.rowTop, m.column = i, 0, 0, 0
	m.clock++
	m.files[i].seen = m.clock
	m.arrangeRows()
	m.toHead(0)
	m.reveal()
	m.scroll()
}

// foldHunk folds or unfolds the hunk a person is at.
func (m *Model) foldHunk() {
	f, i := m.file(), m.hunkAt()
	if i < 0 {
		m.foldGaps()
		return
	}
	f.fold(f.hunks[i].ID, !f.folded[f.hunks[i].ID])
	m.toHead(i)
	m.refresh()
}

// foldAll folds all hunks of the file, or unfolds them when one is folded.
func (m *Model) foldAll() {
	f, i := m.file(), max(0, int(m.here().hunk))
	some := slices.ContainsFunc(f.hunks, func(h review.Hunk) bool { return f.folded[h.ID] })
	for j := range f.hunks {
		f.fold(f.hunks[j].ID, !some)
	}
	m.toHead(i)
	m.refresh()
}

func (f *file) fold(id review.HunkID, folded bool) {
	if f.folded == nil {
		f.folded = map[review.HunkID]bool{}
	}
	f.folded[id] = folded
}

// wheel scrolls the tree or the diff, whichever it is over.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	if m.set == nil {
		return
	}
	by := 3
	if msg.Button == tea.MouseWheelUp {
		by = -3
	} else if msg.Button != tea.MouseWheelDown {
		return
	}
	switch {
	case m.conflict != nil:
		m.conflict.scroll(by)
	case m.check != nil && m.check.shown():
		m.check.scroll(by)
	case m.Typing():
	case msg.X < m.listWidth():
		m.tree.Go(m.tree.At() + by)
	default:
		m.row += by
		m.scroll()
	}
}

// click goes to what the mouse points at: a file, a folder, a line.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	row := msg.Y - headRows
	if m.conflict != nil && msg.Button == tea.MouseLeft {
		m.conflict.click(row)
		return nil
	}
	if m.set == nil || m.Typing() || m.covered() || msg.Button != tea.MouseLeft || row < 0 || row >= m.bodyHeight() {
		return nil
	}
	if msg.X >= m.listWidth() {
		m.inTree = false
		if f := m.file(); m.rowTop+row < f.layout.n {
			m.row = m.rowTop + row
			m.scroll()
			if m.here().kind == gapRow {
				return m.unfold(false)
			}
		}
		return nil
	}
	if !m.tree.Click(row) {
		return nil
	}
	return m.enter()
}

// enter shows the file at the tree's cursor, or folds the folder.
func (m *Model) enter() tea.Cmd {
	if m.tree.At() >= len(m.entries) {
		return nil
	}
	e := m.entries[m.tree.At()]
	if !e.file {
		m.foldDir(e)
		return nil
	}
	m.goTo(e.from)
	return m.load()
}
