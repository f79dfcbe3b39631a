package changes

import (
	"slices"

	"aibox/review"
	"aibox/review/decision"
	"aibox/ui/changes/diff"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// lineMode is active while the user accepts single lines.
type lineMode struct {
	from *rangeStart // nil means no range
}

// rangeStart is the place where a range begins. It is no row number, because rows move when lines
// around hunks are shown, comments are kept or the layout changes.
type rangeStart struct {
	file  int
	hunk  review.HunkID
	row   diff.Row
	lines []int // the changed lines there
}

var (
	takeLine  = keymap.Bind("take the line, or not", "space")
	markRange = keymap.Bind("begin a range", "v")
	endLines  = keymap.Bind("end", "esc", "L", "q")
)

func (*lineMode) keys() []binding { return []binding{takeLine, markRange, endLines} }

// chooseLines starts to accept single lines of the hunk at the cursor.
func (m *Model) chooseLines() {
	i := m.diff.Hunk()
	if i < 0 || !decision.CanChooseLines(&m.diff.File().Hunks()[i]) {
		m.note.Say("this change can only be taken as a whole", nil)
		return
	}
	m.lines = &lineMode{}
	m.diff.ToChangedLine(i)
	m.diff.Scroll()
	m.note.Say("space takes a line, v begins a range, esc ends", nil)
}

// pressLines handles a key while the user accepts single lines. handled is false for a key that
// works as usual.
func (m *Model) pressLines(msg tea.KeyPressMsg) (cmd tea.Cmd, handled bool) {
	switch {
	case key.Matches(msg, endLines):
		if m.lines.from != nil {
			m.lines.from = nil
			return nil, true
		}
		m.lines = nil
	case key.Matches(msg, markRange):
		m.beginRange()
	case key.Matches(msg, takeLine):
		return m.toggleLines(), true
	default:
		return nil, false
	}
	return nil, true
}

// beginRange begins a range at the cursor.
func (m *Model) beginRange() {
	hunk := m.diff.Hunk()
	if hunk < 0 {
		m.note.Say("no hunk is here", nil)
		return
	}
	id, lines := m.diff.File().Hunks()[hunk].ID, m.diff.ChangedLines(hunk, m.diff.Row, m.diff.Row)
	m.lines.from = &rangeStart{file: m.diff.At, hunk: id, row: m.diff.Current(), lines: lines}
	m.note.Say("move to the end of the range; space takes it", nil)
}

// chosenLines returns the changed lines of the range that ends at the cursor, or those at the cursor
// if there is no range. ok is false if the range began in another hunk.
func (m *Model) chosenLines(hunk int) (lines []int, ok bool) {
	from, f := m.lines.from, m.diff.File()
	if from == nil {
		return m.diff.ChangedLines(hunk, m.diff.Row, m.diff.Row), true
	}
	if from.file != m.diff.At || from.hunk != f.Hunks()[hunk].ID {
		return nil, false
	}
	lines = append(slices.Clone(from.lines), m.diff.ChangedLines(hunk, f.Layout.Find(from.row), m.diff.Row)...)
	slices.Sort(lines)
	return slices.Compact(lines), true
}

// toggleLines accepts the lines of the range or at the cursor. If all of them are accepted, it
// takes them out again.
func (m *Model) toggleLines() tea.Cmd {
	hunk, row := m.diff.Hunk(), m.diff.Row
	if hunk < 0 {
		m.lines.from = nil
		return nil
	}
	chosen, ok := m.chosenLines(hunk)
	m.lines.from = nil
	f, at := m.diff.File(), m.diff.At
	h := &f.Hunks()[hunk]
	switch {
	case !ok:
		m.note.Say("the range began in another hunk, so nothing is taken", nil)
		return nil
	case len(chosen) == 0:
		m.note.Say("no changed line of this hunk is here", nil)
		return nil
	}
	now, id, to := f.AcceptedLines(h), h.ID, decision.Accepted
	if !slices.ContainsFunc(chosen, func(n int) bool { return !slices.Contains(now, n) }) {
		to = decision.Undecided
		now = slices.DeleteFunc(slices.Clone(now), func(n int) bool { return slices.Contains(chosen, n) })
	} else {
		now = append(slices.Clone(now), chosen...)
	}
	return m.withConsent(to, func(consent bool) tea.Cmd {
		m.change(func() { _ = m.draft.DecideLines(at, id, now, consent) })
		m.diff.ToRow(row + 1)
		m.diff.Scroll()
		return m.load()
	})
}
